// Job lookup: one company or account, from the mirror if it is fresh enough, else for one credit from the service. The
// answer is kept in the mirror; while another process holds the warehouse, that process loads it.
import { createLedger } from "../src/budget/credits/local-ledger.ts";
import { streamSpec } from "../src/catalog/streams.ts";
import type { Config } from "../src/core/config/config.ts";
import { snapshotPath } from "../src/core/data-dir.ts";
import { DuckmirrorError, isCode } from "../src/core/errors.ts";
import { withCode } from "../src/core/report/problem.ts";
import type { Secret } from "../src/core/secret.ts";
import { newRunId } from "../src/core/text/run-id.ts";
import { lookUpAtService } from "../src/sync/lookup/lookup-at-service.ts";
import { believes404, type LookupFound, lookUpInMirror } from "../src/sync/lookup/lookup-in-mirror.ts";
import { readLastQuota } from "../src/sync/plan/credits.ts";
import { redactingArchive } from "../src/sync/recovery/archived-response.ts";
import { loadCommandCalls } from "../src/sync/recovery/load-command-calls.ts";
import { redactingSender } from "../src/sync/request/fetcher.ts";
import type { LookupQuestion } from "../src/sync/rows/lookup-outcome.ts";
import { readForgotten, refuseUnfinished } from "../src/warehouse/archive/forgotten-list.ts";
import { archiveStore } from "../src/warehouse/archive/read-archive.ts";
import { warehousePaths } from "../src/warehouse/file/working-file.ts";
import { readSnapshot } from "../src/warehouse/read/mirror-reader.ts";
import { type JobContext, redactorOf } from "./engine.ts";
import { withWarehouse, writingOptions } from "./home.ts";
import { openOwnAccess } from "./service-access.ts";

export interface LookupRequest extends LookupQuestion {
  /** Oldest acceptable answer of the mirror, ms; null: the maximum age of the stream. */
  readonly maxAgeMs: number | null;
}

export interface LookupContext extends Pick<JobContext, "clock" | "random" | "signal" | "version" | "connect"> {
  readonly token: Secret;
}

export interface LookupResult extends LookupFound, LookupQuestion {
  readonly source: "mirror" | "service";
  readonly credits: number;
  /** The mirror holds the answer; false: the next process that can write to the warehouse will load it. */
  readonly kept: boolean;
  /** Why nothing, or not one account, was found, or why the mirror could not be written; null: neither. */
  readonly error: DuckmirrorError | null;
}

const errorOf = ({ kind, input }: LookupQuestion, found: LookupFound): DuckmirrorError | null => {
  if (found.status === "found") return null;
  if (kind === "company") return new DuckmirrorError("COMPANY_UNKNOWN", { input });
  if (found.status === "not_found") return new DuckmirrorError("ACCOUNT_UNKNOWN", { input });
  return new DuckmirrorError("ACCOUNT_AMBIGUOUS", { input, count: found.candidates.length });
};

/** Reads the snapshot; null without one. */
const ofSnapshot = async <T>(config: Config, read: Parameters<typeof readSnapshot<T>>[1]): Promise<T | null> => {
  try {
    return await readSnapshot(snapshotPath(config.dataDir), read);
  } catch (error) {
    if (isCode(error, "SNAPSHOT_MISSING")) return null;
    throw error;
  }
};

type Keeping = Pick<LookupResult, "kept" | "error">;

/**
 * Loads the answer and publishes it; not while another process holds the warehouse. Throws nothing: the answer is paid for,
 * and the caller gets it also where the mirror cannot be written.
 */
const keepAnswer = async (config: Config, { clock, signal }: LookupContext): Promise<Keeping> => {
  const { dataDir } = config;
  try {
    await withWarehouse({ ...writingOptions(config, clock), stop: signal }, async (warehouse) => {
      const redact = await redactorOf(config, await readForgotten(warehouse.archiveDir));
      const archive = redactingArchive(archiveStore(warehouse.archiveDir), redact);
      await loadCommandCalls(warehouse, { dataDir, archive, clock });
      await warehouse.publish();
    });
    return { kept: true, error: null };
  } catch (error) {
    if (isCode(error, "WRITER_BUSY")) return { kept: false, error: null };
    return { kept: false, error: withCode(error) };
  }
};

/** Asks the service within credits and rate. Throws BUDGET_SPENT, QUOTA_SPENT and the errors of the response. */
const ask = async (config: Config, question: LookupQuestion, context: LookupContext) => {
  const { clock, random, signal, version, connect = openOwnAccess } = context;
  if (config.baseUrl === null) throw new DuckmirrorError("BASE_URL_MISSING");
  const { maxCredits, reserveCredits: reserve, dataDir } = config;
  const ledger = createLedger({ clock, maxCredits, reserve });
  const known = await ofSnapshot(config, async ({ database }) => ({
    quota: await readLastQuota(database),
    answered: await believes404(database),
  }));
  const quota = known?.quota ?? null;
  // One request: no earlier response of this command can show the remaining credits.
  if (quota !== null && (quota.resetsAt ?? 0) > clock.now()) ledger.observe(quota, clock.now());
  const forgotten = await readForgotten(warehousePaths(dataDir).archiveDir);
  refuseUnfinished(forgotten);
  const redact = await redactorOf(config, forgotten);
  const access = await connect(config, { clock, version, token: context.token, signal });
  try {
    return await lookUpAtService(question, config, {
      dataDir,
      runId: newRunId(clock.now(), random),
      sender: redactingSender(access.sender, redact),
      ledger,
      clock,
      random,
      signal,
      addressKnown: known?.answered ?? false,
      timeLimitMs: config.timeouts.totalMs,
    });
  } finally {
    await access.close();
  }
};

const trimmed = ({ kind, input }: LookupQuestion): LookupQuestion => {
  const text = input.trim();
  if (text === "") throw new DuckmirrorError("USAGE", { detail: `lookup ${kind}: the text is empty` });
  return { kind, input: text };
};

/** The mirror's answer, if it is fresh enough; else null. Needs no token and no connection. Throws USAGE. */
export const lookupInMirror = async (
  config: Config,
  request: LookupRequest,
  { clock }: Pick<LookupContext, "clock">,
): Promise<LookupResult | null> => {
  const question = trimmed(request);
  const stream = streamSpec(question.kind === "company" ? "companies" : "account_insights");
  const oldest = clock.now() - (request.maxAgeMs ?? config.maxAgeMs[stream.name] ?? stream.maxAgeMs);
  const found = await ofSnapshot(config, ({ database }) => lookUpInMirror(database, question, oldest));
  if (found === null) return null;
  return { ...question, ...found, source: "mirror", credits: 0, kept: true, error: errorOf(question, found) };
};

/**
 * The service's answer, for one credit; it is kept in the mirror. Throws configuration errors, BUDGET_SPENT, QUOTA_SPENT
 * and FORGET_UNFINISHED before anything is sent, CREDENTIALS_REFUSED, REQUEST_FAILED and faults. That nothing was found,
 * or that the mirror could not be written, is in the result.
 */
export const lookupAtService = async (
  config: Config,
  request: LookupRequest,
  context: LookupContext,
): Promise<LookupResult> => {
  const question = trimmed(request);
  const { found, credits } = await ask(config, question, context);
  const { kept, error } = await keepAnswer(config, context);
  return { ...question, ...found, source: "service", credits, kept, error: errorOf(question, found) ?? error };
};
