// Loads the ledger rows of requests that commands sent without holding the warehouse (`check`, `feedback`, a lookup beside a worker):
// each command wrote its requests to a file, and becomes a run of its own here.
import { ENDPOINTS } from "../../catalog/endpoints.ts";
import { isStreamName } from "../../catalog/streams.ts";
import type { Clock } from "../../core/clock.ts";
import type { ErrorCode } from "../../core/errors.ts";
import type { ArchivedResponse, ArchiveStore } from "../../warehouse/archive/read-archive.ts";
import type { Warehouse } from "../../warehouse/file/warehouse.ts";
import type { OutsideCalls } from "../../warehouse/journal/call-lines.ts";
import { readCallFiles, removeCallFile } from "../../warehouse/journal/journal.ts";
import type { RequestRecord, ScopeState, TableLoad } from "../../warehouse/record/checkpoint.ts";
import { unreadState } from "../list/stored-state.ts";
import { unansweredRow } from "../request/turn.ts";
import { unknownInputLoad } from "../rows/loads.ts";
import { type LookupOutcome, lookupOutcome, lookupQuestion, outcomeJson } from "../rows/lookup-outcome.ts";
import { loadable } from "./archived-response.ts";
import { archivedRequest } from "./recover.ts";

const BY_INPUT = ENDPOINTS.resolveCompany.path;
const ELSEWHERE: ErrorCode = "ROUTE_NOT_FOUND";

/** The account of a lookup counts as checked, so that the next sync does not pay for its insight again. */
const checkedAccount = (outcome: LookupOutcome, now: number, runId: string): readonly ScopeState[] =>
  outcome.kind !== "account" || outcome.status !== "found"
    ? []
    : [{ ...unreadState("account_insights", String(outcome.id), runId), checkedAt: now, walkedAt: now }];

/** Loads an archived answer of a lookup with its ledger row. Returns what the lookup found; null: nothing usable. */
const bookAnswer = async (
  warehouse: Warehouse,
  { runId, answered }: OutsideCalls,
  response: ArchivedResponse,
): Promise<LookupOutcome | null> => {
  const { header } = response;
  const taken = loadable(response, warehouse.strictness);
  const { answer, error } = taken;
  const question = lookupQuestion.safeParse(header.detail);
  const outcome = answer === null || !question.success ? null : lookupOutcome(question.data, answer.envelope.envelope);
  const known = answered.find(({ requestId }) => requestId === header.requestId);
  const stream = isStreamName(header.stream) ? header.stream : "companies";
  await warehouse.commit({
    runId,
    loads: taken.error === null ? taken.loads : [],
    requests: [{ ...(known ?? archivedRequest(header, stream, 0, error)), error }],
    scopes: outcome === null || error !== null ? [] : checkedAccount(outcome, header.receivedAt, runId),
    quota: null,
  });
  return outcome;
};

/**
 * Inputs that resolve to no company, which only their own route says: the mirror keeps that, so that not every lookup asks
 * again. A 404 of a wrong address (ROUTE_NOT_FOUND) says nothing.
 */
const unknownInputs = (requests: readonly RequestRecord[]): readonly TableLoad[] =>
  requests
    .filter(({ status, endpoint, error }) => status === 404 && endpoint === BY_INPUT && !error?.startsWith(ELSEWHERE))
    .map(({ scope, requestId, startedAt, durationMs }) =>
      unknownInputLoad({ scope, requestId, receivedAt: startedAt + durationMs }),
    );

/** Booking the same calls twice changes nothing, so a crash before the file is removed is harmless. */
const book = async (warehouse: Warehouse, archive: ArchiveStore, calls: OutsideCalls): Promise<void> => {
  const { runId, mode, startedAt, finishedAt, answered, open, quota, error } = calls;
  await warehouse.startRun({ runId, mode, startedAt });
  const archived = new Set<string>();
  let found: LookupOutcome | null = null;
  for await (const response of archive.responses(runId)) {
    archived.add(response.header.requestId);
    found = await bookAnswer(warehouse, calls, response);
  }
  const lost = open.map(({ requestId, stream, scope, endpoint, url, at }) =>
    unansweredRow({ requestId, runId, stream, scope, endpoint, url, startedAt: at }),
  );
  const requests = [...answered, ...lost].filter(({ requestId }) => !archived.has(requestId));
  await warehouse.commit({ runId, loads: unknownInputs(requests), requests, scopes: [], quota });
  const summary = found === null ? null : outcomeJson(found);
  await warehouse.finishRun(runId, { status: "done", finishedAt, summary, error });
};

/** A data directory whose calls are to be booked. `archive`: where the answers of lookups are. */
interface Booking {
  readonly dataDir: string;
  readonly archive: ArchiveStore;
  readonly clock: Pick<Clock, "now">;
}

/**
 * Books every call file whose process has ended. A file that cannot be removed is booked again, which changes nothing.
 * Throws the errors of a commit.
 */
export const loadCommandCalls = async (warehouse: Warehouse, { dataDir, archive, clock }: Booking): Promise<void> => {
  for (const calls of await readCallFiles(dataDir)) {
    if (calls.until >= clock.now()) continue;
    await book(warehouse, archive, calls);
    removeCallFile(dataDir, calls.runId);
  }
};

/** The warehouse that also books such calls before it publishes, so that a snapshot lacks none of them. */
export const bookingWarehouse = (warehouse: Warehouse, booking: Booking): Warehouse => ({
  ...warehouse,
  publish: async () => {
    await loadCommandCalls(warehouse, booking);
    return warehouse.publish();
  },
  publishNews: async (runId, policy) => {
    await loadCommandCalls(warehouse, booking);
    return warehouse.publishNews(runId, policy);
  },
});
