// Opens what sync and verify need to call the service (warehouse, archive, credit ledger, connection, redaction of erased people), runs their
// work in a trace, and closes all of it.

import { createHmac } from "node:crypto";
import { createRedactor, type Redactor } from "../src/api/redact.ts";
import { createLedger } from "../src/budget/credits/local-ledger.ts";
import { fieldPath } from "../src/catalog/field-rules.ts";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { resolveHashKey } from "../src/core/config/secrets.ts";
import { type DuckmirrorError, EXIT } from "../src/core/errors.ts";
import type { ProgressSink } from "../src/core/report/sync-progress.ts";
import { type SyncReport, sumOfFigures } from "../src/core/report/sync-report.ts";
import type { Secret } from "../src/core/secret.ts";
import { learnTier, readTier } from "../src/core/state/tier.ts";
import { inSpan, noTracer, type Span, type SpanAttributes, type Tracer } from "../src/core/tracing.ts";
import { grantOf, readRollOver } from "../src/sync/plan/credits.ts";
import { redactingArchive } from "../src/sync/recovery/archived-response.ts";
import { bookingWarehouse, loadCommandCalls } from "../src/sync/recovery/load-command-calls.ts";
import { redactingSender } from "../src/sync/request/fetcher.ts";
import { tracedSender, tracedWarehouse } from "../src/sync/request/tracing.ts";
import type { SyncDeps } from "../src/sync/run/state/run-input.ts";
import type { VerifyReport } from "../src/sync/verify/report.ts";
import { type ForgottenList, readForgotten } from "../src/warehouse/archive/forgotten-list.ts";
import { archiveStore } from "../src/warehouse/archive/read-archive.ts";
import { openWarehouse } from "../src/warehouse/file/warehouse.ts";
import { writingOptions } from "./home.ts";
import type { BeginWait } from "./run-slots.ts";
import { type OpenAccess, openOwnAccess } from "./service-access.ts";

// Attributes of the spans of whole jobs: figures, codes and stream names, never values of records. PURE.

const syncAttributes = (report: SyncReport): SpanAttributes => {
  const rows = sumOfFigures(report.streams);
  return {
    "duckmirror.run.id": report.run_id,
    "duckmirror.mode": report.mode,
    "duckmirror.status": report.status,
    "duckmirror.streams": report.streams.map(({ stream }) => stream),
    "duckmirror.streams_failed": report.streams.flatMap(({ stream, status }) => (status === "failed" ? [stream] : [])),
    "duckmirror.requests": report.requests,
    "duckmirror.credits.spent": report.credits.spent,
    "duckmirror.credits.ambiguous": report.credits.ambiguous,
    "duckmirror.credits.remaining": report.credits.remaining,
    "duckmirror.rows.inserted": rows.inserted,
    "duckmirror.rows.updated": rows.updated,
    "duckmirror.rows.deleted": rows.deleted,
    "duckmirror.rows.unchanged": rows.unchanged,
    "duckmirror.rows.rejected": rows.rejected,
  };
};

/** Sets the result of a sync. A spent budget or an interruption is no failure; `duckmirror.ended_by` shows it. */
export const traceSync = (span: Span, report: SyncReport, error: DuckmirrorError | null): void => {
  span.set({ ...syncAttributes(report), "duckmirror.ended_by": error?.code });
  if (report.status === "failed" || report.status === "partial") span.fail(error?.code ?? "STREAMS_FAILED");
};

/** Sets the result of a verification. Differences are its result, so they are no failure. */
export const traceVerify = (span: Span, report: VerifyReport, error: DuckmirrorError | null): void => {
  span.set({
    "duckmirror.run.id": report.run_id,
    "duckmirror.requests": report.checks.length,
    "duckmirror.credits.spent": report.credits.spent,
    "duckmirror.credits.remaining": report.credits.remaining,
    "duckmirror.differences": report.differences.length,
    "duckmirror.repaired": report.differences.filter(({ repaired }) => repaired).length,
    "duckmirror.ended_by": error?.code,
  });
  const failed = error !== null && error.code !== "VERIFY_DIFFERS" && error.code !== "INTERRUPTED";
  if (failed && error.exitCode !== EXIT.budget) span.fail(error.code);
};

// Makes the redactor of responses from the configured field rules and the list of erased contacts.

const pathsOf = (names: readonly string[]) => names.flatMap((name) => fieldPath(name) ?? []);

/** Hash function of `hash_fields`; null where no field is hashed. Throws CONFIG_INVALID. */
export const hasherOf = async (config: Config): Promise<((text: string) => string) | null> => {
  const key = await resolveHashKey(config);
  return key === null ? null : (text) => createHmac("sha256", key.reveal()).update(text).digest("hex");
};

/** The redactor of a data directory; null when there is nothing to redact. Throws CONFIG_INVALID. */
export const redactorOf = async (config: Config, forgotten: ForgottenList): Promise<Redactor | null> => {
  const hashOf = await hasherOf(config);
  return createRedactor({
    exclude: pathsOf(config.excludeFields),
    hash: hashOf === null ? [] : pathsOf(config.hashFields),
    hashOf: hashOf ?? (() => ""),
    forgotten: forgotten.find,
    anyForgotten: forgotten.entries.length > 0,
  });
};

/** Time limit for unfinished requests after a command's run ends, ms. Their responses are paid for, so it waits. */
export const COMMAND_GRACE_MS = 8_000;

const ADOPTED =
  "the folder state/ was empty, so the mirror goes on from its snapshot; whom `forget` erased is no longer known: bring back forget.key and archive/forgotten.json from a backup before the next sync";

/** Inputs of a job. */
export interface JobContext {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly emit: ProgressSink;
  /** Aborts when the run should end: finish the page, commit, return. */
  readonly signal: AbortSignal;
  /** Aborts when unfinished requests should be abandoned too; unset: never. */
  readonly hardSignal?: AbortSignal;
  /** Time limit for unfinished requests once the run ends, ms; unset: no limit. */
  readonly graceMs?: number;
  readonly version: string;
  readonly token: Secret;
  /** Connection to the service; unset: from this process alone. */
  readonly connect?: OpenAccess;
  /** Parent of the job's spans; unset: no tracing. */
  readonly tracer?: Tracer;
  /** Called when a request begins to wait for the service; see places.ts. */
  readonly onWait?: BeginWait;
}

/** Limits of a run by the configuration, but for its most credits. */
export const limitsOf = (config: Config) => ({
  reserve: config.reserveCredits,
  pace: config.pace,
  runEveryMs: config.syncEveryMs,
});

/**
 * Runs `work` with warehouse, ledger and connection. `maxCredits`: allowance of the whole job; null: all remaining
 * credits of the organization. Throws WRITER_BUSY, configuration errors, and errors of `work`.
 */
export const withEngine = async <T>(
  config: Config,
  context: JobContext,
  maxCredits: number | null,
  work: (deps: SyncDeps) => Promise<T>,
): Promise<T> => {
  const { clock, connect = openOwnAccess, tracer = noTracer } = context;
  const connection = await connect(config, context);
  try {
    const { dataDir, baseUrl } = config;
    const warehouse = await inSpan(tracer, "open", () =>
      openWarehouse({ ...writingOptions(config, clock), stop: context.signal }),
    );
    if (warehouse.adopted) context.emit({ kind: "note", level: "warn", text: ADOPTED });
    try {
      const redact = await redactorOf(config, await readForgotten(warehouse.archiveDir));
      const archive = redactingArchive(archiveStore(warehouse.archiveDir), redact);
      const booking = { dataDir, archive, clock };
      await loadCommandCalls(warehouse, booking);
      const rollsOver = grantOf(await readRollOver(warehouse.database));
      const ledger = createLedger({ clock, ...limitsOf(config), ...rollsOver, maxCredits });
      return await work({
        ...context,
        tracer,
        warehouse: tracedWarehouse(bookingWarehouse(warehouse, booking), tracer),
        archive,
        sender: redactingSender(tracedSender(connection.sender, { tracer, clock, baseUrl }), redact),
        ledger,
        tier: { known: await readTier(dataDir), learn: (evidence) => learnTier(dataDir, evidence, clock.now()) },
      });
    } finally {
      await warehouse.close();
    }
  } finally {
    await connection.close();
  }
};
