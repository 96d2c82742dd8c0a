// Sends the one request of a lookup to the service, without holding the warehouse: its ledger lines go to a call file, its response to the
// archive. The next process that holds the warehouse loads both, so a paid response is never lost.
import type { ApiCall } from "../../api/outcome.ts";
import type { Ledger } from "../../budget/credits/local-ledger.ts";
import { createQuotaRecorder } from "../../budget/credits/local-ledger.ts";
import { ENDPOINTS, pathOf } from "../../catalog/endpoints.ts";
import { streamSpec } from "../../catalog/streams.ts";
import type { Clock } from "../../core/clock.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { unwritable } from "../../core/state/shared-file.ts";
import { type Archive, openArchive } from "../../warehouse/archive/archive.ts";
import { warehousePaths } from "../../warehouse/file/working-file.ts";
import { type CallLine, createCallLog } from "../../warehouse/journal/call-lines.ts";
import { appendCallLine } from "../../warehouse/journal/journal.ts";
import { initialForm } from "../list/form.ts";
import { type CallOptions, companyCall, insightCall } from "../request/calls.ts";
import { createFetcher, type Fetched } from "../request/fetcher.ts";
import type { Sender } from "../request/turn.ts";
import { embeddedRecords } from "../rows/granted-fields.ts";
import { INPUT_SCOPE } from "../rows/loads.ts";
import { LOOKUP_SCOPE, type LookupQuestion, lookupOutcome } from "../rows/lookup-outcome.ts";
import { createEnding, type Ending } from "../run/state/ending.ts";
import { type LookupFound, nothingFound } from "./lookup-in-mirror.ts";

interface AskDeps {
  readonly dataDir: string;
  readonly runId: string;
  readonly sender: Sender;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** An earlier request was answered, so a 404 is the service's own. */
  readonly addressKnown: boolean;
  /** Time limit of one request, ms. */
  readonly timeLimitMs: number;
}

interface AskResult {
  readonly found: LookupFound;
  readonly credits: number;
}

/** A rate refusal can make it wait for an hour at most, ms. */
const LONGEST_PAUSE_MS = 3_600_000;

/** Forms of the request, the fullest first: a refusal is free. */
const formsOf = ({ kind, input }: LookupQuestion, options: CallOptions): readonly ApiCall[] => {
  if (kind === "account") {
    const { accountId: _, ...sections } = insightCall("", options).query;
    const { path, endpoint } = insightCall("", options);
    const named = input.includes(".") && !/\s/.test(input) ? { domain: input } : { query: input };
    return [{ endpoint, path, query: { ...named, ...sections } }];
  }
  const stream = streamSpec("companies");
  const full = companyCall({ kind: "input", value: input }, initialForm(1), stream, options);
  const path = pathOf("resolveCompany", input);
  const { include = "" } = full.query;
  return [full, { ...full, query: { include } }, { endpoint: "resolveCompany", path, query: {} }];
};

const foundIn = (question: LookupQuestion, { result }: Fetched): LookupFound | null => {
  if (result.kind === "absent") return nothingFound(result.receivedAt);
  if (result.kind !== "answer") return null;
  const { outcome, receivedAt } = result;
  const { status, candidates, bestMatch } = lookupOutcome(question, outcome.envelope);
  const keys = ["latestEarningsCall", "latestEarningsCalls"];
  const [call = null] = embeddedRecords(outcome.included, { include: "", keys, table: "earnings_calls" });
  return {
    status,
    asOf: receivedAt,
    record: status === "found" ? outcome.data : null,
    latestEarningsCall: call,
    latestEarningsCallAnalysis: outcome.included?.latestEarningsCallAnalysis ?? null,
    candidates,
    bestMatch,
  };
};

/** Error of a request that brought no usable answer. */
const failureOf = ({ result }: Fetched, call: ApiCall, ended: ReturnType<Ending["reason"]>): DuckmirrorError => {
  if (result.kind === "failed" || result.kind === "no-credit") return result.error;
  if (result.kind !== "adjust") return ended?.kind === "stopped" ? ended.error : new DuckmirrorError("INTERRUPTED");
  const { path } = ENDPOINTS[call.endpoint];
  return new DuckmirrorError("REQUEST_FAILED", {
    endpoint: `GET ${path}`,
    detail: `status ${result.outcome.status} ${result.outcome.excerpt}`.trim(),
  });
};

/** Appends to the lookup's call file. Throws DATA_DIR_UNWRITABLE or DISK_FULL. */
const append = (dataDir: string, runId: string, line: CallLine): void => {
  try {
    appendCallLine(dataDir, runId, line);
  } catch (cause) {
    throw cause instanceof DuckmirrorError ? cause : unwritable(dataDir, cause);
  }
};

/**
 * Asks the service. Throws BUDGET_SPENT or QUOTA_SPENT before anything is sent, DATA_DIR_UNWRITABLE or DISK_FULL if the
 * answer could not be kept, and the errors of the response.
 */
export const lookUpAtService = async (
  question: LookupQuestion,
  options: CallOptions,
  deps: AskDeps,
): Promise<AskResult> => {
  const { dataDir, runId, clock } = deps;
  const stream = question.kind === "company" ? "companies" : "account_insights";
  const scope = `${question.kind === "company" ? INPUT_SCOPE : LOOKUP_SCOPE}${question.input}`;
  const log = createCallLog({
    runId,
    mode: "lookup",
    write: (line) => append(dataDir, runId, line),
    now: clock.now,
    longestMs: deps.timeLimitMs + LONGEST_PAUSE_MS,
  });
  const bodies = openArchive({ dir: warehousePaths(dataDir).archiveDir, runId, now: clock.now() });
  const quota = createQuotaRecorder(clock);
  const forms = formsOf(question, options);
  let call = forms[0];
  /** Intents go to the call file, which other processes read; bodies to the archive. */
  const archive: Archive = {
    ...bodies,
    intent: async ({ requestId, url }) =>
      log.sent({ requestId, url, stream, scope, endpoint: ENDPOINTS[call?.endpoint ?? "resolveCompany"].path }),
  };
  const ending = createEnding({ clock, signal: deps.signal, hardSignal: deps.signal });
  const { signal, hardSignal, stop } = ending;
  const fetcher = createFetcher(
    { ...deps, archive, emit: () => undefined, onQuota: quota.see, signal, hardSignal, stop },
    runId,
  );

  let failure: DuckmirrorError | null = null;
  let credits = 0;
  try {
    for (const form of forms) {
      call = form;
      const fetched = await fetcher.fetch({
        order: () => ({ runId, stream, scope, walkId: null, call: form, work: "record", detail: { ...question } }),
      });
      await bodies.flush();
      for (const request of fetched.requests) log.answered(request, null);
      credits += fetched.requests.filter(({ charge }) => charge === "spent").length;
      const found = foundIn(question, fetched);
      if (found !== null) return { found, credits };
      failure = failureOf(fetched, form, ending.reason());
      if (fetched.result.kind !== "adjust") throw failure;
    }
    throw failure ?? new DuckmirrorError("INTERRUPTED");
  } finally {
    ending.close();
    await bodies.close();
    log.end(failure?.code ?? null, quota.take(true));
  }
};
