// What jobs that talk to the service work with, opened from the configuration and closed after them.
import { createLedger } from "../src/budget/memory-store.ts";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import type { ProgressSink } from "../src/core/progress-events.ts";
import type { Secret } from "../src/core/secret.ts";
import { inSpan, noTracer, type Tracer } from "../src/core/tracing.ts";
import { readLastQuota } from "../src/sync/plan/mirror-view.ts";
import { redactingArchive, redactingSender } from "../src/sync/recovery/redacting.ts";
import { tracedSender, tracedWarehouse } from "../src/sync/request/tracing.ts";
import type { SyncDeps } from "../src/sync/run/sync-run.ts";
import { archiveStore } from "../src/warehouse/archive/archive-store.ts";
import { readForgotten } from "../src/warehouse/archive/forgotten-list.ts";
import { openWarehouse } from "../src/warehouse/file/warehouse.ts";
import { tableStrictness } from "../src/warehouse/record/strict-rows.ts";
import { type Connect, connectAlone } from "./connection.ts";
import { redactorOf } from "./redaction.ts";

/** How long a command waits for requests on the wire once its run ends, ms: their answers are paid for. */
export const GRACE_MS = 8_000;

/** What a job is given from outside. */
export interface JobContext {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly emit: ProgressSink;
  /** Aborts when the run should end: finish the page, commit, return. */
  readonly signal: AbortSignal;
  /** Aborts when even the page under way should be given up; unset: never. */
  readonly hardSignal?: AbortSignal;
  /** How long requests on the wire are waited for once the run ends, ms; unset: as long as they take. */
  readonly graceMs?: number;
  readonly version: string;
  readonly token: Secret;
  /** How requests get to the service; unset: from this process alone. */
  readonly connect?: Connect;
  /** What its spans stand in; unset: nothing is traced. */
  readonly tracer?: Tracer;
}

/**
 * Runs `work` with warehouse, ledger and a way to the service. `maxCredits`: the allowance of the whole job, null for what
 * the organization has left. Throws WRITER_BUSY, configuration errors, and what `work` throws.
 */
export const withEngine = async <T>(
  config: Config,
  context: JobContext,
  maxCredits: number | null,
  work: (deps: SyncDeps) => Promise<T>,
): Promise<T> => {
  const { clock, connect = connectAlone, tracer = noTracer } = context;
  const connection = await connect(config, context);
  try {
    const { dataDir, strictness, baseUrl, memory } = config;
    const warehouse = await inSpan(tracer, "open", () =>
      openWarehouse({ dataDir, clock, memory, strictness: tableStrictness(strictness) }),
    );
    try {
      const redact = await redactorOf(config, await readForgotten(warehouse.archiveDir));
      const unsent = await connection.takeOver(warehouse, redact);
      const lastQuota = await readLastQuota(warehouse.database);
      const ledger = createLedger({
        clock,
        maxCredits,
        reserve: config.reserveCredits,
        pace: config.pace,
        runEveryMs: config.syncEveryMs,
        ...(lastQuota === null ? {} : { lastQuota }),
      });
      return await work({
        ...context,
        tracer,
        warehouse: tracedWarehouse(warehouse, tracer),
        archive: redactingArchive(archiveStore(warehouse.archiveDir), redact),
        sender: redactingSender(tracedSender(connection.sender, { tracer, clock, baseUrl }), redact),
        unsent,
        ledger,
      });
    } finally {
      await warehouse.close();
    }
  } finally {
    await connection.close();
  }
};
