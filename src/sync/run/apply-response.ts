// Applies the response to a request to its list or record: commits its rows and the list's state, then lets the list decide what comes
// next. Also the outcomes without rows: 404, and a refused page after the last known row. It sends nothing.
import { z } from "zod";
import type { OkOutcome } from "../../api/outcome.ts";
import { isStreamName, type StreamName } from "../../catalog/streams.ts";
import type { RowScope } from "../../core/config/planning/scope-settings.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { isJsonObject, type JsonValue } from "../../core/json.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import type { LoadCounts, ScopeState, TableLoad } from "../../warehouse/record/checkpoint.ts";
import { frozenMisfit, lossesOf } from "../../warehouse/record/normalize-record.ts";
import { startOf } from "../list/coverage/page-geometry.ts";
import type { PageRead, ReadRequest } from "../list/coverage/read-types.ts";
import { pageBeyondEnd, pageReadOf } from "../list/page-read.ts";
import { isExcerpt, type Live, liveOf, readingOf } from "../list/state.ts";
import { finishedState, rejected, walkingState } from "../list/stored-state.ts";
import { stateKey } from "../plan/candidate.ts";
import type { FetchResult } from "../request/fetcher.ts";
import { INPUT_SCOPE, loadsOf, timeOf, unknownInputLoad } from "../rows/loads.ts";
import { filtersOf, isOutside } from "../rows/row-scope.ts";
import { learnFromPage, learnFromRecord } from "./learn-form.ts";
import { shareForm } from "./negotiate-form.ts";
import { describeRequest, type SentRequest } from "./next-request.ts";
import type { OpenList } from "./state/open-list.ts";
import type { Run } from "./state/run-state.ts";

type SentPage = SentRequest & { readonly read: ReadRequest };
type Answer = Extract<FetchResult, { kind: "answer" }>;
type Absence = Extract<FetchResult, { kind: "absent" }>;

/** Parts of a run that an answer changes. */
type ResponseParts = Run<
  "committer" | "ends" | "forms" | "suspected" | "reader" | "stats" | "tier" | "unusable" | "work"
>;

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

const readWhole = async (run: Run<"forms">, stream: StreamName): Promise<void> => {
  const text = `${stream}: the service ignores the filters of the setting scope, so the list is read whole`;
  run.deps.emit({ kind: "note", level: "warn", text });
  await run.forms.store(stream, { ...run.forms.ofStream(stream), filters: false });
};

/** The walk that marks the rows of a page as seen; null: none. A first walk has seen exactly the mirrored rows; a log never deletes. */
const markingWalk = (list: Live): string | null => {
  const reading = readingOf(list);
  return reading === null || reading.firstMirror || reading.progress.kind === "log" ? null : list.walkId;
};

const rowLoads = ({ list, wanted: { call, detail } }: SentRequest, { outcome, requestId, receivedAt }: Answer) => {
  const { stream, scope } = list.candidate;
  const { endpoint, query } = call;
  const { data, included, envelope } = outcome;
  const { granted, along } = detail;
  const walkId = markingWalk(liveOf(list.state));
  return loadsOf({
    ...{ stream, scope, endpoint, query, requestId, walkId, receivedAt },
    ...{ data, included, envelope, granted, along },
  });
};

/**
 * Counts records that came along for their own stream; owners have none. Profiles of companies count as they are; of other records,
 * unchanged ones are no news.
 */
export const countEmbedded = (
  run: Run<"stats" | "work">,
  loads: readonly TableLoad[],
  counts: readonly LoadCounts[],
): void => {
  for (const [index, { stream, table, fromPath }] of loads.entries()) {
    const count = counts[index];
    if (count === undefined || table === stream || !isStreamName(table)) continue;
    // A company's embedded call is a row of the company's list of calls, whose counts are compared with the service's.
    if (table === "earnings_calls") run.work.addRows(stateKey(table, String(fromPath.companyId)), count.inserted);
    if (table !== "companies" && count.inserted + count.updated === 0) continue;
    run.stats.addMode(table, "embedded");
    run.stats.countLoad(table, table === "companies" ? count : { ...count, unchanged: 0, rejected: 0 });
  }
};

const heldRow = z.object({ held: z.number() });

/**
 * A missing insight does not replace a mirrored one until an answer of this run shows that the organization still has
 * Full Access: with a lowered tier, every insight is missing.
 */
const distrusts = async (run: Run<"tier">, list: OpenList, outcome: OkOutcome): Promise<boolean> => {
  const { scope } = list.candidate;
  if (list.stream.scope !== "account" || outcome.envelope.status !== "not_found" || run.tier.hasRows) return false;
  const held = await run.deps.warehouse.database.query(sqlText("plan/insight-of-account.sql"), [scope], heldRow);
  return held.length > 0;
};

/** True for an input that an earlier answer resolved: its company may only be dropped with the guards of a delete. */
const isResolved = async (run: Run, { candidate: { mode, scope } }: OpenList): Promise<boolean> => {
  if (mode !== "resolve") return false;
  const sql = sqlText("plan/company-of-input.sql");
  const held = await run.deps.warehouse.database.query(sql, [scope.slice(INPUT_SCOPE.length)], heldRow);
  return held.length > 0;
};

/** Error when a record does not fit a frozen table, so that nothing of the response is loaded. */
const frozenError = (run: Run, { stream }: OpenList, loads: readonly TableLoad[]): DuckmirrorError | null => {
  const misfit = frozenMisfit(loads, run.deps.warehouse.strictness);
  return misfit === null ? null : new DuckmirrorError("SCHEMA_FROZEN", { stream: stream.name, ...misfit });
};

/** The state of a list under way, to be committed with the page that led to it. An excerpt, and a list that failed for good, store none. */
const statesOf = ({ runId }: Run, { state }: OpenList): readonly ScopeState[] =>
  isExcerpt(state) || (state.kind === "failed" && !state.resumable) ? [] : [walkingState(state, runId)];

/** Commits the ledger rows of an answer that brings nothing. */
export const commitLedger = async (
  run: Run<"committer">,
  { requests }: Pick<SentRequest, "requests">,
): Promise<void> => {
  await run.committer.commit({ loads: [], requests, states: [], bytes: 0 });
};

/** Learns from a page the form of its list, whether filters work, and the granted page size. Returns whether it is asked for again. */
const learnForm = async (run: ResponseParts, { list, read, wanted: { call } }: SentPage, { outcome }: Answer) => {
  const { name } = list.stream;
  const tried = run.forms.hasOwn(list);
  const again = await learnFromPage(run, list, read, call, outcome);
  if (tried && !run.forms.hasOwn(list)) await shareForm(run, list);
  const { rowScope } = run.options;
  const records = Array.isArray(outcome.data) ? outcome.data : [];
  if (run.forms.isFiltered(name) && ignoresFilters(rowScope, name, call.query, records)) await readWhole(run, name);
  return again;
};

/** Commits the rows of a page with the state that it leads to. `again`: it is asked for again in another form. */
const commitPage = async (
  run: ResponseParts,
  { list, requests }: SentPage,
  loads: readonly TableLoad[],
  { page, again, bytes }: { readonly page: PageRead; readonly again: boolean; readonly bytes: number },
): Promise<void> => {
  await run.committer.commit({
    loads,
    requests,
    states: statesOf(run, list),
    counted: ([main, ...embedded]) => {
      list.transition({ kind: "loaded", counts: main ?? null, repeated: again });
      if (main !== undefined) {
        run.work.countRows(list);
        run.stats.countLoad(list.candidate.stream, main);
      }
      countEmbedded(run, loads.slice(1), embedded);
    },
    bytes,
    // The last page of a company's list, by its count: rows of other lists may make requests due.
    canWait:
      !again && list.stream.scope === "company" && page.total !== null && startOf(page) + page.rows >= page.total,
  });
};

/** The answer cannot be used: the list fails, and goes on there in the next run. */
const failPage = async (run: ResponseParts, { list, read, requests }: SentPage, error: DuckmirrorError) => {
  list.transition({ kind: "lost", read });
  await commitLedger(run, { requests });
  return run.ends.fail(list, error, { resumable: true });
};

/** Applies a page of a list. */
export const applyPage = async (run: ResponseParts, sent: SentPage, result: Answer): Promise<void> => {
  const { list, read } = sent;
  const { data, page: meta, bytes } = result.outcome;
  if (!Array.isArray(data)) {
    const context = { endpoint: describeRequest(sent), detail: "`data` is not a list" };
    return failPage(run, sent, new DuckmirrorError("RESPONSE_INVALID", context));
  }
  const again = await learnForm(run, sent, result);
  const { name } = list.stream;
  const page = pageReadOf(liveOf(list.state), read, data, meta, run.forms.largestPage(name));
  run.forms.notePage(name, page.rows);
  run.tier.notePage(list, page);
  const loads = rowLoads(sent, result);
  if (name === "accounts") run.suspected.noteEmbedded(loads);
  const frozen = frozenError(run, list, loads);
  if (frozen !== null) return failPage(run, sent, frozen);
  // The default response is loaded, too: only it is certain to hold fields that API.md does not know.
  if (again) list.transition({ kind: "repeated", read });
  else list.transition({ kind: "page", read: page, receivedAt: result.receivedAt });
  await commitPage(run, sent, loads, { page, again, bytes });
  if (!again) await run.tier.learnFrom(list, page);
  await run.reader.goOn(list);
};

/**
 * The service refused the page after the last known row of a list that it does not count: nothing more is requested. The
 * list stays unconfirmed, because the service may limit the page number, or the company may just have gone.
 */
export const applyRefusedEnd = async (run: ResponseParts, { list, read, requests }: SentPage): Promise<void> => {
  list.transition({ kind: "page", read: pageBeyondEnd(read), receivedAt: run.deps.clock.now() });
  list.transition({ kind: "loaded", counts: null, repeated: false });
  await run.committer.commit({ loads: [], requests, states: statesOf(run, list), bytes: 0 });
  await run.reader.goOn(list);
};

/** A profile that holds what no embedded company does: accounts bring companies in part, so the other profiles are due, too. */
const compareEmbedded = async (
  run: Run<"forms" | "work">,
  { candidate: { compares } }: OpenList,
  data: JsonValue,
): Promise<void> => {
  if (compares === undefined || !isJsonObject(data)) return;
  const isPartial = compares.some((name) => (data[name] ?? null) !== null);
  await run.forms.store("accounts", { ...run.forms.ofStream("accounts"), partial: isPartial ? ["company"] : [] });
  if (isPartial) run.work.planAgain();
};

/** Commits the rows of a record with its final state. `own`: its version, if it has one. */
const endRecord = async (
  run: ResponseParts,
  { list, requests }: SentRequest,
  end: {
    readonly own: number | null;
    readonly loads: readonly TableLoad[];
    readonly bytes: number;
    readonly now: number;
  },
): Promise<void> => {
  const { own, loads, bytes, now } = end;
  const { mode, version = null } = list.candidate;
  list.transition({ kind: "record", version: own ?? version });
  const [main] = loads;
  const lost = main === undefined ? 0 : lossesOf(main, run.deps.warehouse.strictness(main.table)).length;
  const verdict = { whole: true, addsUp: lost === 0, unconfirmed: rejected(lost) };
  const states = [finishedState(liveOf(list.state), { ...verdict, now, runId: run.runId })];
  const counts = await run.committer.commit({ loads, requests, states, bytes, canWait: mode !== "resolve" });
  countEmbedded(run, loads, counts);
  const [count] = main?.table === "company_inputs" ? [] : counts;
  if (count !== undefined) run.stats.countLoad(list.candidate.stream, count);
  await learnFromRecord(run, list);
  run.ends.close(list);
};

/** A record that the service does not know. Companies, and inputs that were resolved before, are decided together, behind guards. */
const applyRecordNotFound = async (
  run: ResponseParts,
  sent: SentRequest,
  { requestId, receivedAt: now, doubtful }: Absence,
) => {
  const { list } = sent;
  const { scope, mode } = list.candidate;
  if (list.stream.scope === "company" && (mode !== "resolve" || (await isResolved(run, list)))) {
    await commitLedger(run, sent);
    if (list.state.kind !== "single") return;
    list.transition({ kind: "absent" });
    run.suspected.absentCompanies.add({ list, doubtful });
  } else if (mode === "detail") {
    await commitLedger(run, sent);
    run.unusable.failed(list.candidate, { goneOn: false, deep: false, free: true, absent: true });
    run.work.drop(list);
  } else {
    // An input that the service does not know is a row of company_inputs, and no company.
    const loads = mode === "resolve" ? [unknownInputLoad({ scope, requestId, receivedAt: now })] : [];
    await endRecord(run, sent, { own: null, loads, bytes: 0, now });
  }
};

/** Applies the response to the single request of a record: rows and final state are one transaction. */
export const applyRecord = async (run: ResponseParts, sent: SentRequest, result: Answer): Promise<void> => {
  const { list } = sent;
  const { outcome, receivedAt: now } = result;
  const loads = (await distrusts(run, list, outcome)) ? [] : rowLoads(sent, result);
  const frozen = frozenError(run, list, loads);
  if (frozen !== null) {
    await commitLedger(run, sent);
    return run.ends.fail(list, frozen, { resumable: false });
  }
  await compareEmbedded(run, list, outcome.data);
  const own = list.candidate.mode === "detail" ? timeOf(outcome.data, "updatedAt") : null;
  await endRecord(run, sent, { own, loads, bytes: outcome.bytes, now });
};

/** 404 on a list or record. */
export const applyNotFound = async (run: ResponseParts, sent: SentRequest, result: Absence): Promise<void> => {
  const { list, read, wanted } = sent;
  if (read === null) return applyRecordNotFound(run, sent, result);
  list.transition({ kind: "lost", read });
  await commitLedger(run, sent);
  const endpoint = describeRequest(sent);
  if (list.stream.scope === "company") {
    const isNew = readingOf(list.state)?.pages === 0 && liveOf(list.state).rows > 0;
    if (isNew && !result.doubtful) run.suspected.suspect(list.candidate.scope);
    const doubt = result.doubtful && isNew ? run.unusable.doubt(list.candidate, endpoint) : null;
    return doubt === null
      ? run.reader.apply(list, { kind: "absent" })
      : run.ends.fail(list, doubt, { resumable: false });
  }
  const detail = "HTTP 404: the service does not know this route";
  // The request history is not business data, so a service without it is no failure.
  if (list.stream.strategy === "log") {
    run.deps.emit({ kind: "note", level: "warn", text: `${wanted.call.path}: ${detail}` });
    return run.ends.close(list);
  }
  return run.ends.fail(list, new DuckmirrorError("REQUEST_FAILED", { endpoint, detail }), { resumable: true });
};
