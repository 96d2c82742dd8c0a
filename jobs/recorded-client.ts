// Sends single requests for commands that do not hold the warehouse (`check`, `feedback`), and notes each in a call file; the next process
// that holds the warehouse loads it to the ledger. `answerTo` waits once at most for the rate limit.
import type { Client } from "../src/api/client.ts";
import type { ApiCall, ApiOutcome, OkOutcome } from "../src/api/outcome.ts";
import { causeOf } from "../src/api/outcome.ts";
import { verdictOf } from "../src/api/retry-policy.ts";
import { type LedgerStream, streamOfRoute } from "../src/catalog/streams.ts";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { DuckmirrorError, detailOf } from "../src/core/errors.ts";
import { newRunId } from "../src/core/text/run-id.ts";
import { plannedRow, requestRow } from "../src/sync/request/turn.ts";
import { type CallLine, createCallLog } from "../src/warehouse/journal/call-lines.ts";
import { appendCallLine } from "../src/warehouse/journal/journal.ts";
import type { QuotaReading } from "../src/warehouse/record/checkpoint.ts";
import { type AccessContext, clientOf } from "./service-access.ts";

/** Longest time from a line to the next one, beside the time limit of a request, ms: a wait for the rate. */
const LONGEST_PAUSE_MS = 600_000;

export interface RecordedContext extends AccessContext {
  /** In [0, 1). */
  readonly random: () => number;
  /** Called once if the calls cannot be noted. */
  readonly warn: (text: string) => void;
}

const quotaOf = (outcome: ApiOutcome): QuotaReading | null => {
  const usage = outcome.kind === "ok" || outcome.kind === "refused" ? outcome.usage : null;
  return usage === null ? null : { capturedAt: outcome.sentAt + outcome.durationMs, ...usage };
};

/** Writes lines of one command. A line that cannot be written is reported once and stops nothing. */
const lineWriter = (dataDir: string, runId: string, warn: RecordedContext["warn"]) => {
  let warned = false;
  return (line: CallLine): void => {
    try {
      appendCallLine(dataDir, runId, line);
    } catch (error) {
      if (!warned) warn(`the ledger will lack requests of this command: ${detailOf(error)}`);
      warned = true;
    }
  };
};

/**
 * A client whose calls enter the ledger as a run of `mode`. Nothing is written before the first call. Throws
 * BASE_URL_MISSING, TOKEN_OVER_PLAIN_HTTP.
 */
export const recordedClient = (
  config: Config,
  context: RecordedContext,
  { mode, stream }: { readonly mode: string; readonly stream: LedgerStream },
): Client => {
  const { clock, random, warn } = context;
  const client = clientOf(config, context);
  const runId = newRunId(clock.now(), random);
  const log = createCallLog({
    runId,
    mode,
    write: lineWriter(config.dataDir, runId, warn),
    now: clock.now,
    longestMs: config.timeouts.totalMs + LONGEST_PAUSE_MS,
  });
  let sent = 0;
  let failure: string | null = null;

  const send = async (call: ApiCall, signal?: AbortSignal): Promise<ApiOutcome> => {
    const named = streamOfRoute(call.endpoint)?.name ?? stream;
    const order = { runId, stream: named, scope: "", call, work: "reading" } as const;
    sent += 1;
    const attempt = sent;
    const requestId = `${runId}-${attempt}`;
    const { runId: _, ...row } = plannedRow(order);
    log.sent({ requestId, ...row });
    const outcome = await client.send(call, signal);
    const lastAttempt = { attempt: 1, maxAttempts: 1, random: 0.5, now: clock.now(), remainingCredits: null };
    const verdict = verdictOf(outcome, lastAttempt);
    log.answered(requestRow({ order, outcome }, requestId, attempt, verdict), quotaOf(outcome));
    failure = outcome.kind === "ok" ? null : causeOf(outcome);
    return outcome;
  };
  return {
    send,
    close: async () => {
      log.end(failure, null);
      await client.close();
    },
  };
};

/** Longest wait of a command for the rate limit, at most once; a longer one fails. ms. */
const LONGEST_WAIT_MS = 90_000;

export interface SingleRequest {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called before a wait for the rate limit. */
  readonly onWait?: (waitMs: number) => void;
}

/**
 * The usable answer to one call, and the number of requests it took. `otherForm`: the call to send after this refusal; null: none. Throws
 * every other failure.
 */
export const answerTo = async (
  client: Client,
  first: ApiCall,
  { clock, signal, onWait = () => undefined }: SingleRequest,
  otherForm: (status: number, excerpt: string) => ApiCall | null = () => null,
): Promise<{ readonly outcome: OkOutcome; readonly requests: number }> => {
  let call = first;
  let hasWaited = false;
  for (let requests = 1; ; requests++) {
    const outcome = await client.send(call, signal);
    if (outcome.kind === "ok") return { outcome, requests };
    const other = outcome.kind === "refused" ? otherForm(outcome.status, outcome.excerpt) : null;
    if (other !== null) {
      call = other;
      continue;
    }
    const now = clock.now();
    const verdict = verdictOf(outcome, { attempt: 1, maxAttempts: 1, random: 0.5, now, remainingCredits: null });
    if (verdict.kind === "fail" || verdict.kind === "stop") throw new DuckmirrorError(verdict.code, verdict.context);
    const waitMs = verdict.kind === "wait" ? verdict.untilMs - now : Number.POSITIVE_INFINITY;
    if (hasWaited || waitMs > LONGEST_WAIT_MS) {
      const endpoint = `${call.body === undefined ? "GET" : "POST"} ${call.path}`;
      throw new DuckmirrorError("REQUEST_FAILED", { endpoint, detail: causeOf(outcome) });
    }
    hasWaited = true;
    onWait(waitMs);
    await clock.sleep(waitMs, signal);
  }
};
