// Recovers runs that were killed, or ended by a fault, at the begin of the next run: loads responses that were archived but not committed,
// and marks requests without a response as ambiguous. Requests nothing that was paid for again.
import { z } from "zod";
import { readAnswerId } from "../../api/envelope.ts";
import { ENDPOINTS } from "../../catalog/endpoints.ts";
import { isStreamName, type StreamName } from "../../catalog/streams.ts";
import type { ArchiveHeader } from "../../warehouse/archive/archive.ts";
import type { ArchiveStore } from "../../warehouse/archive/read-archive.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { instant } from "../../warehouse/duckdb/statements.ts";
import type { Warehouse } from "../../warehouse/file/warehouse.ts";
import type { RequestRecord, ScopeState } from "../../warehouse/record/checkpoint.ts";
import { initialForm } from "../list/form.ts";
import { next } from "../list/next.ts";
import { pageReadOf } from "../list/page-read.ts";
import { type Live, liveOf, openList, readingOf, type ScopeMode } from "../list/state.ts";
import { finishedState, walkingState } from "../list/stored-state.ts";
import { stateKey } from "../plan/candidate.ts";
import { unansweredRow } from "../request/turn.ts";
import { DETAIL_SCOPE, timeOf } from "../rows/loads.ts";
import { type ArchivedAnswer, archivedLoads, isEndpoint, loadable } from "./archived-response.ts";

// Times of readings that lie in the future, because the clock was ahead: their lists would not be due until then. They become
// the time of now, so a list is read at its usual age. A clock that is behind the service's own dates changes nothing: with its
// time, every list would be too old later.

/** Clocks that are set right by the network differ by less. */
const TOLERANCE_MS = 60_000;

const answerRow = z.object({ ahead: z.boolean() });

/** Corrects the states of all lists. Returns how many it corrected. `now`: ms since the epoch. */
export const correctFutureStamps = async (
  warehouse: Pick<Warehouse, "database" | "scopeStates" | "commit">,
  runId: string,
  now: number,
): Promise<number> => {
  const latest = now + TOLERANCE_MS;
  const [answer] = await warehouse.database.query(sqlText("plan/stamped-ahead.sql"), [instant(latest)], answerRow);
  if (answer?.ahead !== true) return 0;
  const isAhead = (at: number | null) => at !== null && at > latest;
  const bound = (at: number | null) => (isAhead(at) ? now : at);
  const wrong = (await warehouse.scopeStates()).filter((state) => isAhead(state.checkedAt) || isAhead(state.walkedAt));
  const scopes = wrong.map((state) => ({
    ...state,
    checkedAt: bound(state.checkedAt),
    walkedAt: bound(state.walkedAt),
  }));
  await warehouse.commit({ runId, loads: [], requests: [], scopes, quota: null });
  return scopes.length;
};

export const archivedRequest = (
  header: ArchiveHeader,
  stream: StreamName,
  rows: number,
  error: string | null,
): RequestRecord => {
  const { requestId, runId, scope, url, status, bytes, sentAt, receivedAt } = header;
  const endpoint = isEndpoint(header.endpoint) ? ENDPOINTS[header.endpoint].path : header.endpoint;
  const durationMs = receivedAt - sentAt;
  return {
    ...{ requestId, runId, stream, scope, endpoint, url, startedAt: sentAt, status, durationMs, bytes, rows, error },
    work: null,
    charge: "spent",
    attempt: 1,
    serviceRequestId: null,
    apiVersion: null,
  };
};

/** The list of a response when nothing of it was committed: the first page of a walk, or a single request. */
const firstList = (answer: ArchivedAnswer, rows: number): Live | null => {
  const { header, stream, read, overlap } = answer;
  const opened = (mode: ScopeMode): Live =>
    openList({
      order: { stream, scope: header.scope, mode, overlap: overlap === true },
      before: undefined,
      shape: initialForm(read?.perPage ?? 1),
      rows,
      runId: header.runId,
      now: header.sentAt,
    });
  if (read === null)
    return header.walkId === null ? null : opened(header.scope.startsWith(DETAIL_SCOPE) ? "detail" : "capture");
  if (overlap === null || header.walkId === null || read.page !== 1) return null;
  return { ...opened("walk"), walkId: header.walkId };
};

/** The list with the archived answer, and the state to commit with it; null: the answer belongs to another reading. */
const withAnswer = (
  list: Live,
  { header, read, envelope }: ArchivedAnswer,
  runId: string,
): { readonly list: Live; readonly state: ScopeState } | null => {
  if (read === null) {
    if (list.kind !== "single") return null;
    const version = list.order.mode === "detail" ? timeOf(envelope.data, "updatedAt") : null;
    const record = liveOf(next(list, { kind: "record", version }).state);
    const outcome = { whole: true, addsUp: true, now: header.receivedAt, runId };
    return { list: record, state: finishedState(record, outcome) };
  }
  if (list.walkId !== header.walkId) return null;
  const page = pageReadOf(list, read, envelope.data, envelope.page);
  const after = liveOf(next(list, { kind: "page", read: page, receivedAt: header.receivedAt }).state);
  return { list: after, state: walkingState(after, runId) };
};

/** Commits one response: rows, progress of its walk if that is unfinished, and its ledger row. Returns the list after it. */
const takeUp = async (
  warehouse: Warehouse,
  answer: ArchivedAnswer,
  list: Live | null,
  runId: string,
): Promise<Live | null> => {
  const { header, stream, read, envelope } = answer;
  const taken = list === null ? null : withAnswer(list, answer, runId);
  const isFirst = taken !== null && read !== null && readingOf(taken.list)?.firstMirror === true;
  const rows = Array.isArray(envelope.data) ? envelope.data.length : 0;
  const id = readAnswerId(envelope.envelope);
  const [main] = await warehouse.commit({
    runId: header.runId,
    loads: archivedLoads(answer, isFirst ? null : header.walkId),
    requests: [
      {
        ...archivedRequest(header, stream, rows, null),
        serviceRequestId: id.requestId,
        apiVersion: id.apiVersion,
        work: answer.work,
      },
    ],
    scopes: taken === null ? [] : [taken.state],
    quota: null,
  });
  if (taken === null || read === null || main === undefined) return taken?.list ?? list;
  return liveOf(next(taken.list, { kind: "loaded", counts: main, repeated: false }).state);
};

const recoverRun = async (
  warehouse: Warehouse,
  archive: ArchiveStore,
  runId: string,
  rows: ReadonlyMap<string, number>,
): Promise<number> => {
  const known = await warehouse.requestsOf(runId);
  const states = await warehouse.scopeStates();
  const begun = new Set(states.map((state) => stateKey(state.stream, state.scope)));
  const lists = new Map<string, Live>();
  for (const before of states.filter((state) => state.status === "walking")) {
    const key = stateKey(before.stream, before.scope);
    const order = { stream: before.stream, scope: before.scope, mode: "walk", overlap: false } as const;
    // Pages of the run that stored the cursor join as they would have joined in it. They are not requested again.
    const sameRun = before.runId === runId;
    const options = { shape: initialForm(1000), rows: rows.get(key) ?? 0, runId, now: 0, sameRun };
    lists.set(key, openList({ order, before, ...options }));
  }
  const answered = new Set<string>();
  let answers = 0;
  for await (const response of archive.responses(runId)) {
    const { header } = response;
    answered.add(header.requestId);
    if (known.has(header.requestId) || !isStreamName(header.stream)) continue;
    const { answer, error } = loadable(response, warehouse.strictness);
    if (error === null) {
      const key = stateKey(answer.stream, header.scope);
      const list = lists.get(key) ?? (begun.has(key) ? null : firstList(answer, rows.get(key) ?? 0));
      const after = await takeUp(warehouse, answer, list, runId);
      if (after !== null) lists.set(key, after);
      answers += 1;
    } else {
      const requests = [archivedRequest(header, header.stream, 0, error)];
      await warehouse.commit({ runId, loads: [], requests, scopes: [], quota: null });
    }
  }
  const lost = (await archive.intents(runId)).flatMap(({ requestId, stream, scope, url, sentAt }) => {
    if (known.has(requestId) || answered.has(requestId) || !isStreamName(stream)) return [];
    const endpoint = url.split("?")[0] ?? url;
    return [unansweredRow({ requestId, runId, stream, scope, endpoint, url, startedAt: sentAt })];
  });
  await warehouse.commit({ runId, loads: [], requests: lost, scopes: [], quota: null });
  return answers;
};

const crashedRow = z.object({ run_id: z.string(), ended: z.boolean() });

/**
 * Takes up every run that was killed, and the latest sync if a fault ended it; ends those without an end. Call it before
 * planning. `readRows`: rows per list, asked for only if there is such a run. Returns how many answers it loaded.
 */
export const recover = async (
  warehouse: Warehouse,
  archive: ArchiveStore,
  readRows: () => Promise<ReadonlyMap<string, number>>,
  now: number,
): Promise<number> => {
  const crashed = await warehouse.database.query(sqlText("plan/crashed-runs.sql"), [], crashedRow);
  let answers = 0;
  const rows = crashed.length === 0 ? new Map<string, number>() : await readRows();
  for (const { run_id: runId, ended } of crashed) {
    answers += await recoverRun(warehouse, archive, runId, rows);
    if (ended) continue;
    await warehouse.finishRun(runId, {
      status: "interrupted",
      finishedAt: now,
      summary: null,
      error: "the process ended",
    });
  }
  return answers;
};
