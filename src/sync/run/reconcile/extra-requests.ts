// Requests of a run beside the pages of its lists: one record by its id, or a page of a part of a list. Sends them within the run's credits
// and budgets; `fetchAndLoad` also loads their rows, and `moveToHistory` deletes. A 404 for an id is free, and counts as deleted only where
// control rows of the same list are found by id (`trusts404s`); a 200 costs a credit.
import type { ApiCall, OkOutcome } from "../../../api/outcome.ts";
import { type StreamName, streamSpec } from "../../../catalog/streams.ts";
import { isScopedTable, type ScopedTable } from "../../../catalog/tables.ts";
import type { DuckmirrorError } from "../../../core/errors.ts";
import type { LoadCounts, RequestRecord, TableLoad, Work } from "../../../warehouse/record/checkpoint.ts";
import { frozenMisfit } from "../../../warehouse/record/normalize-record.ts";
import { liveOf } from "../../list/state.ts";
import { detailCall, NO_DETAIL } from "../../request/calls.ts";
import type { FetchResult } from "../../request/fetcher.ts";
import { creditsOf } from "../../request/turn.ts";
import { idOf, loadsOf } from "../../rows/loads.ts";
import type { OpenList } from "../state/open-list.ts";
import type { Run } from "../state/run-state.ts";

/** Parts of a run that a request beside the pages of a list uses. */
export type ExtraRequestParts = "budgets" | "committer" | "fetcher" | "stats";

interface ExtraRequest {
  readonly stream: StreamName;
  /** Unset: a list of the organization. */
  readonly scope?: string;
  readonly call: ApiCall;
  readonly work: Work;
  /** Walk of which the rows of the answer count as seen; null: none. */
  readonly walkId: string | null;
  /** Fields that the list is known to return. */
  readonly granted: readonly string[];
}

interface ExtraResponse {
  readonly result: FetchResult;
  readonly requests: readonly RequestRecord[];
  /** Rows of the answer. */
  readonly loads: readonly TableLoad[];
  /** Why a frozen table does not take them; null: it does. */
  readonly misfit: ReturnType<typeof frozenMisfit>;
}

/** Sends one request within the run's credits, budgets and rate; commits nothing. null: a budget forbids it. */
export const fetchExtra = async (
  run: Pick<Run<"budgets" | "fetcher">, "runId" | "budgets" | "fetcher" | "deps">,
  { stream, scope = "", call, work, walkId, granted }: ExtraRequest,
): Promise<ExtraResponse | null> => {
  const purpose = { stream, work };
  if (run.budgets.room(purpose) !== "some") {
    run.budgets.leaveOut(purpose);
    return null;
  }
  const detail = { ...NO_DETAIL, granted: [...granted], work };
  const order = { runId: run.runId, stream, scope, walkId, call, work, detail };
  run.budgets.launch(purpose);
  const { result, requests } = await run.fetcher.fetch({ order: () => order });
  run.budgets.settle(purpose, creditsOf(requests));
  if (result.kind !== "answer") return { result, requests, loads: [], misfit: null };
  const { requestId, receivedAt, outcome } = result;
  const { data, included, envelope } = outcome;
  const { endpoint, query } = call;
  const about = { stream, scope, endpoint, query, requestId, walkId, receivedAt, granted };
  const loads = loadsOf({ ...about, data, included, envelope });
  return { result, requests, loads, misfit: frozenMisfit(loads, run.deps.warehouse.strictness) };
};

type ExtraResult =
  /** `counts` null: nothing was loaded, because the answer has no rows or a frozen table does not take them. */
  | { readonly kind: "answer"; readonly outcome: OkOutcome; readonly counts: LoadCounts | null }
  /** A budget forbids it. */
  | { readonly kind: "no-budget" }
  | Exclude<FetchResult, { kind: "answer" }>;

/** Sends one request that belongs to no page, within the run's credits, budgets and rate, and loads its rows. */
export const fetchAndLoad = async (run: Run<ExtraRequestParts>, order: ExtraRequest): Promise<ExtraResult> => {
  const asked = await fetchExtra(run, order);
  if (asked === null) return { kind: "no-budget" };
  const { result, requests, loads, misfit } = asked;
  run.stats.countRequests(requests);
  const bytes = result.kind === "answer" ? result.outcome.bytes : 0;
  const rows = misfit === null ? loads : [];
  const [counts = null] = await run.committer.commit({ loads: rows, requests, states: [], bytes });
  return result.kind === "answer" ? { kind: "answer", outcome: result.outcome, counts } : result;
};

/** True for a list of the organization whose records can be requested by id (API.md, detail routes of the workspace). */
export const hasDetailRoute = (name: StreamName): name is ScopedTable =>
  isScopedTable(name) && streamSpec(name).detail !== undefined;

type ByIdAnswer =
  | "absent"
  | "alive"
  /** A record of another id, into which it was merged, or a lasting redirect to one. */
  | "another"
  | Unanswered;

/** This run could not find out; the error is set if its credits were the reason. */
interface Unanswered {
  readonly noCredit: DuckmirrorError | null;
}

/** A redirect for good: a 302 or 307 may be a gateway's for the moment. */
const isMoved = ({ code, context }: DuckmirrorError): boolean =>
  code === "REDIRECTED" && [301, 308].includes(Number(context.status));

/** Asks for one record by its id. */
export const fetchById = async (
  run: Run<ExtraRequestParts>,
  list: OpenList,
  name: ScopedTable,
  id: string,
): Promise<ByIdAnswer> => {
  const call = detailCall(streamSpec(name), id, run.options);
  const { walkId } = liveOf(list.state);
  const result = await fetchAndLoad(run, { stream: name, call, work: "walk", walkId, granted: [] });
  if (result.kind === "answer") return (idOf(result.outcome.data) ?? id) === id ? "alive" : "another";
  if (result.kind === "absent") return "absent";
  if (result.kind === "failed" && isMoved(result.error)) return "another";
  return { noCredit: result.kind === "no-credit" ? result.error : null };
};

/** What is known of rows that were asked for by their ids. */
interface RowsById {
  readonly gone: readonly string[];
  readonly alive: number;
  /** Rows that answered with another id. */
  readonly moved: number;
  /** Why some were not asked for; null: all were, or enough is known. */
  readonly obstacle: Unanswered | null;
}

interface RowsByIdOptions {
  /** True when the next row need not be asked for. */
  readonly isEnough: (
    soFar: { readonly gone: number; readonly alive: number; readonly moved: number },
    next: string,
  ) => boolean;
  /** Concurrent requests; unset: one. */
  readonly atOnce?: number;
}

/** Asks for rows of a list by their ids until enough is known. */
export const fetchRowsById = async (
  run: Run<ExtraRequestParts>,
  list: OpenList,
  ids: readonly string[],
  { isEnough, atOnce = 1 }: RowsByIdOptions,
): Promise<RowsById> => {
  const { name } = list.stream;
  const waiting = [...ids];
  const found = { gone: [] as string[], alive: 0, moved: 0, obstacle: null as Unanswered | null };
  if (!hasDetailRoute(name)) return found;
  const ask = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (found.obstacle !== null || isEnough({ ...found, gone: found.gone.length }, next)) return;
      const answer = await fetchById(run, list, name, next);
      if (answer === "absent") found.gone.push(next);
      else if (answer === "alive") found.alive += 1;
      else if (answer === "another") found.moved += 1;
      else found.obstacle = answer;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, ask));
  return found;
};

/** Rows asked for as a control before 404s are trusted. */
export const CONTROL_ROWS = 3;

/**
 * Whether 404s can be trusted: the service must know by its id one of a few rows that are there. An organization with a lowered tier
 * gets 404 for everything (API.md, Access tiers), and so does a token without access to the route. null: the run could not find out.
 */
export const trusts404s = async (
  run: Run<ExtraRequestParts>,
  list: OpenList,
  ids: readonly string[],
): Promise<boolean | null> => {
  const { alive, obstacle } = await fetchRowsById(run, list, ids, { isEnough: (soFar) => soFar.alive > 0 });
  return obstacle === null ? alive > 0 : null;
};

/** Moves rows of the list to history. */
export const moveToHistory = async (
  run: Run<"stats" | "work">,
  list: OpenList,
  ids: readonly string[],
): Promise<void> => {
  const { name, table } = list.stream;
  const now = run.deps.clock.now();
  const deleted = await run.deps.warehouse.deleteKeys({ table, ids, runId: run.runId, now });
  run.stats.countDeleted(name, deleted);
  run.work.adjustRows(list, -deleted);
};
