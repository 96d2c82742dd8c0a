// Applies the outcome of a request to its task: rows to load, another list shape, an end.
import { z } from "zod";
import type { OkOutcome } from "../../api/outcome.ts";
import { isStreamName, type StreamName } from "../../catalog/streams.ts";
import type { RowScope } from "../../core/config/planning/scope-settings.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { JsonValue } from "../../core/json.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import type { LoadCounts, ScopeState, TableLoad } from "../../warehouse/record/checkpoint.ts";
import { frozenMisfit } from "../../warehouse/record/strict-rows.ts";
import type { PageRead, ReadRequest } from "../list/coverage/contract.ts";
import { startOf } from "../list/coverage/page-geometry.ts";
import { stateKey } from "../plan/candidate.ts";
import type { FetchResult } from "../request/fetcher.ts";
import { INPUT_SCOPE, loadsOf, timeOf, unknownInputLoad } from "../rows/loads.ts";
import { filtersOf, isOutside } from "../rows/row-scope.ts";
import { pageReadOf, refusedPage } from "../task/page-read.ts";
import { finishedState, walkingState } from "../task/scope-state.ts";
import { become, countFirstForm, countLoad, isExcerpt, landed, type ScopeTask, takePage } from "../task/scope-task.ts";
import { rowScopeOf, type WantedCall, whereOf } from "../task/wanted-call.ts";
import { shareForm } from "./ask-differently.ts";
import { turnOrFailIfPageExists } from "./begin-anew.ts";
import { settleForm, settleShape, storeShape } from "./state/learn-shape.ts";
import { type SyncRun, shapeOf } from "./state/run-state.ts";
import { closeTask, failTask } from "./state/task-ends.ts";
import { learnFrom } from "./state/tier-book.ts";
import { advance, finishAbsent } from "./task-steps.ts";

/** Rows of the ledger that are committed with an answer. */
type Requests = Parameters<SyncRun["committer"]["commit"]>[0]["requests"];
type AnswerResult = Extract<FetchResult, { kind: "answer" }>;

/** True when a record outside the scope, in the answer to a request with its filters, shows that the service ignores them. */
export const ignoresFilters = (
  rowScope: RowScope,
  stream: StreamName,
  query: Readonly<Record<string, string>>,
  records: readonly JsonValue[],
): boolean => {
  const wasFiltered = Object.keys(filtersOf(rowScope, stream) ?? {}).some((name) => query[name] !== undefined);
  return wasFiltered && records.some((record) => isOutside(rowScope, stream, record));
};

const readWhole = async (run: SyncRun, stream: StreamName): Promise<void> => {
  const text = `${stream}: the service ignores the filters of the setting scope, so the list is read whole`;
  run.deps.emit({ kind: "note", level: "warn", text });
  await storeShape(run, stream, { ...shapeOf(run, stream), filters: false });
};

const rowLoads = (task: ScopeTask, wanted: WantedCall, result: AnswerResult): readonly TableLoad[] =>
  loadsOf({
    stream: task.candidate.stream,
    scope: task.candidate.scope,
    endpoint: wanted.call.endpoint,
    query: wanted.call.query,
    requestId: result.requestId,
    // A first walk has seen exactly the mirrored rows; a log never deletes.
    walkId: task.firstMirror || task.progress === null || task.progress.kind === "log" ? null : task.walkId,
    receivedAt: result.receivedAt,
    data: result.outcome.data,
    included: result.outcome.included,
    envelope: result.outcome.envelope,
    granted: wanted.detail.granted,
    along: wanted.detail.along,
  });

/** A company's embedded call is a row of the company's list of calls, whose counts are compared with the service's. */
const countCall = (run: SyncRun, companyId: string, inserted: number): void => {
  const key = stateKey("earnings_calls", companyId);
  run.rows.set(key, (run.rows.get(key) ?? 0) + inserted);
  const task = run.active.get(key);
  if (task !== undefined) task.rows += inserted;
};

/**
 * The counts that embedded records add to their own stream; null: none, because unchanged records are no news. Profiles of
 * companies count as they are.
 */
export const newsOf = (table: StreamName, count: LoadCounts): LoadCounts | null => {
  if (table === "companies") return count;
  return count.inserted + count.updated === 0 ? null : { ...count, unchanged: 0, rejected: 0 };
};

/** Counts records that came along for their own stream; owners have none. */
const countEmbedded = (run: SyncRun, loads: readonly TableLoad[], counts: readonly LoadCounts[]): void => {
  for (const [index, { stream, table, fromPath }] of loads.entries()) {
    const count = counts[index];
    if (count === undefined || table === stream || !isStreamName(table)) continue;
    if (table === "earnings_calls") countCall(run, String(fromPath.companyId), count.inserted);
    const news = newsOf(table, count);
    if (news === null) continue;
    run.stats.of(table).modes.add("embedded");
    run.stats.countLoad(table, news);
  }
};

const heldRow = z.object({ held: z.number() });

/**
 * A missing insight does not replace a mirrored one until an answer of this run shows that the organization still has
 * Full Access: with a lowered tier, every insight is missing.
 */
const distrusts = async (run: SyncRun, task: ScopeTask, outcome: OkOutcome): Promise<boolean> => {
  const { scope } = task.candidate;
  if (task.stream.scope !== "account" || outcome.envelope.status !== "not_found" || run.fullAccess) return false;
  const held = await run.deps.warehouse.database.query(sqlText("plan/insight-of-account.sql"), [scope], heldRow);
  return held.length > 0;
};

/** True for an input that an earlier answer resolved: its company may only be dropped with the guards of a delete. */
const isResolved = async (run: SyncRun, { candidate: { mode, scope } }: ScopeTask): Promise<boolean> => {
  if (mode !== "resolve") return false;
  const sql = sqlText("plan/company-of-input.sql");
  const held = await run.deps.warehouse.database.query(sql, [scope.slice(INPUT_SCOPE.length)], heldRow);
  return held.length > 0;
};

/** Error when a record does not fit a frozen table, so that nothing of the response is loaded. */
const frozenError = (run: SyncRun, task: ScopeTask, loads: readonly TableLoad[]): DuckmirrorError | null => {
  const misfit = frozenMisfit(loads, run.deps.warehouse.strictness);
  return misfit === null ? null : new DuckmirrorError("SCHEMA_FROZEN", { stream: task.stream.name, ...misfit });
};

/** The state of a list under way, to be committed with the page that led to it; an excerpt stores none. */
const statesOf = ({ runId }: SyncRun, task: ScopeTask): readonly ScopeState[] =>
  isExcerpt(task) ? [] : [walkingState(task, runId)];

/** True for the last page of a company's list, by its count: rows of other lists may make requests due. */
const isLastPage = ({ stream }: ScopeTask, read: PageRead): boolean =>
  stream.scope === "company" && read.total !== null && startOf(read) + read.rows >= read.total;

/** Applies a page of a list. */
export const takeListAnswer = async (
  run: SyncRun,
  task: ScopeTask,
  request: ReadRequest,
  wanted: WantedCall,
  result: AnswerResult,
  requests: Requests,
): Promise<void> => {
  const { outcome } = result;
  if (!Array.isArray(outcome.data)) {
    landed(task, request);
    await run.committer.commit({ loads: [], requests, states: [], bytes: 0 });
    const detail = "`data` is not a list";
    const endpoint = whereOf(task, wanted, request);
    return failTask(run, task, new DuckmirrorError("RESPONSE_INVALID", { endpoint, detail }), { resumable: true });
  }
  const tried = run.trials.of(task) !== undefined;
  const again = await settleShape(run, task, request, wanted, outcome);
  if (tried && run.trials.of(task) === undefined) await shareForm(run, task);
  const { name } = task.stream;
  const rowScope = rowScopeOf(task, run.options.rowScope);
  const wasIgnored = shapeOf(run, name).filters && ignoresFilters(rowScope, name, wanted.call.query, outcome.data);
  if (wasIgnored) await readWhole(run, name);
  const granted = run.granted.get(name) ?? 0;
  const read = pageReadOf(task, request, outcome.data, outcome.page, granted);
  run.granted.set(name, Math.max(granted, read.rows));
  if (task.stream.tier === "full" && read.rows > 0) run.fullAccess = true;
  const loads = rowLoads(task, wanted, result);
  const frozen = frozenError(run, task, loads);
  if (frozen !== null) {
    landed(task, request);
    await run.committer.commit({ loads: [], requests, states: [], bytes: 0 });
    return failTask(run, task, frozen, { resumable: true });
  }
  // The default response is loaded, too: only it is certain to hold fields that API.md does not know.
  if (again) landed(task, request);
  else takePage(task, read, result.receivedAt);
  task.uncommitted += 1;
  await run.committer.commit({
    loads,
    requests,
    states: statesOf(run, task),
    counted: ([main, ...embedded]) => {
      task.uncommitted -= 1;
      if (main !== undefined) {
        if (again) countFirstForm(task, main);
        else countLoad(task, main);
        run.rows.set(stateKey(task.candidate.stream, task.candidate.scope), task.rows);
        run.stats.countLoad(task.candidate.stream, main);
      }
      countEmbedded(run, loads.slice(1), embedded);
    },
    bytes: outcome.bytes,
    canWait: !again && isLastPage(task, read),
  });
  if (again) return advance(run, task);
  await learnFrom(run, task, read);
  if (await turnOrFailIfPageExists(run, task, read)) return;
  await advance(run, task);
};

/**
 * The service refused the page after the last known row of a list that it does not count: nothing more is requested. The
 * list stays unconfirmed, because the service may limit the page number, or the company may just have gone.
 */
export const takeEnd = async (
  run: SyncRun,
  task: ScopeTask,
  request: ReadRequest,
  requests: Requests,
): Promise<void> => {
  takePage(task, refusedPage(request), run.deps.clock.now());
  await run.committer.commit({ loads: [], requests, states: statesOf(run, task), bytes: 0 });
  await advance(run, task);
};

/** Applies the response to a task's single request: rows and final state are one transaction. */
export const takeSingleAnswer = async (
  run: SyncRun,
  task: ScopeTask,
  wanted: WantedCall,
  result: AnswerResult | Extract<FetchResult, { kind: "absent" }>,
  requests: Requests,
): Promise<void> => {
  const { requestId, receivedAt } = result;
  const { scope, mode } = task.candidate;
  let loads: readonly TableLoad[] = [];
  if (result.kind === "answer" && !(await distrusts(run, task, result.outcome))) loads = rowLoads(task, wanted, result);
  const frozen = frozenError(run, task, loads);
  if (frozen !== null) {
    await run.committer.commit({ loads: [], requests, states: [], bytes: 0 });
    return failTask(run, task, frozen, { resumable: false });
  }
  const isSettledLater = mode !== "resolve" || (await isResolved(run, task));
  if (result.kind === "absent" && task.stream.scope === "company" && isSettledLater) {
    await run.committer.commit({ loads: [], requests, states: [], bytes: 0 });
    if (become(task, "deleting")) run.absent.push({ task, doubtful: result.doubtful });
    return;
  }
  if (result.kind === "absent" && mode === "resolve") loads = [unknownInputLoad({ scope, requestId, receivedAt })];
  const version = result.kind === "answer" ? timeOf(result.outcome.data, "updatedAt") : null;
  task.newest = (mode === "detail" ? version : null) ?? task.candidate.version ?? null;
  task.firstNewest = task.newest;
  const state = finishedState(task, { whole: true, addsUp: true, now: receivedAt, runId: run.runId });
  const counts = await run.committer.commit({
    loads,
    requests,
    states: [state],
    bytes: result.kind === "answer" ? result.outcome.bytes : 0,
    canWait: mode !== "resolve",
  });
  // An input that the service does not know is a row of company_inputs, and no company.
  if (result.kind === "answer" && counts[0] !== undefined) run.stats.countLoad(task.candidate.stream, counts[0]);
  countEmbedded(run, loads, counts);
  await settleForm(run, task);
  closeTask(run, task);
};

/** 404 on a list or record. */
export const takeAbsence = async (
  run: SyncRun,
  task: ScopeTask,
  request: ReadRequest | null,
  wanted: WantedCall,
  result: Extract<FetchResult, { kind: "absent" }>,
  requests: Requests,
): Promise<void> => {
  if (request === null) return takeSingleAnswer(run, task, wanted, result, requests);
  landed(task, request);
  await run.committer.commit({ loads: [], requests, states: [], bytes: 0 });
  if (task.stream.scope === "company") {
    const endpoint = whereOf(task, wanted, request);
    const isNew = task.pages === 0 && task.rows > 0;
    const doubt = result.doubtful && isNew ? run.doubts.doubt(task.candidate, endpoint) : null;
    return doubt === null ? finishAbsent(run, task) : failTask(run, task, doubt, { resumable: false });
  }
  const detail = "HTTP 404: the service does not know this route";
  // The request history is not business data, so a service without it is no failure.
  if (task.stream.strategy === "log") {
    run.deps.emit({ kind: "note", level: "warn", text: `${wanted.call.path}: ${detail}` });
    return closeTask(run, task);
  }
  const endpoint = whereOf(task, wanted, request);
  return failTask(run, task, new DuckmirrorError("REQUEST_FAILED", { endpoint, detail }), { resumable: true });
};
