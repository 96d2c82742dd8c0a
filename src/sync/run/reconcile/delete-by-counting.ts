// Finds deleted rows by counting parts of their list, if that is cheaper than reading it. list/parts decides each step; this file sends
// the counting requests, loads their rows, confirms deleted rows by 404s (free), and moves them to history. docs/decisions/gone-rows.md.

import type { ScopedTable } from "../../../catalog/tables.ts";
import { counted } from "../../../core/text/units.ts";
import { filterDate } from "../../../core/time.ts";
import {
  applyCount,
  applySettled,
  type Counting,
  type CountingStep,
  type CountRequest,
  nextCount,
  startCounting,
} from "../../list/parts/counting.ts";
import { isWorthCounting, MOST_GONE, priceOfCounting } from "../../list/parts/counting-price.ts";
import type { CountedPage } from "../../list/parts/filter-meaning.ts";
import {
  afterCut,
  afterFailure,
  afterFound,
  type CountingMemory,
  countingMemory,
  countingName,
  filterOf,
  isUsable,
  resumeCounting,
} from "../../list/parts/filter-memory.ts";
import { boundOf, type RowsPerDay } from "../../list/parts/rows-per-day.ts";
import { acceptedGap, liveOf } from "../../list/state.ts";
import { partCall } from "../../request/calls.ts";
import { idOf, timeOf } from "../../rows/loads.ts";
import type { OpenList } from "../state/open-list.ts";
import type { Run } from "../state/run-state.ts";
import { guardDeletes, leaveUndecided } from "./delete-missing-rows.ts";
import {
  type ExtraRequestParts,
  fetchAndLoad,
  fetchRowsById,
  hasDetailRoute,
  moveToHistory,
  trusts404s,
} from "./extra-requests.ts";

/** Rows of a part that still exist cost a credit each; after this many the pages were not the part. */
const MOST_ALIVE = 3;

/** The search in one list: what stays the same from step to step. */
export interface Search {
  readonly run: Run<ExtraRequestParts | "ending" | "forms" | "work">;
  readonly list: OpenList;
  readonly name: ScopedTable;
  readonly part: { readonly before: string; readonly field: string };
}

/** A step that could not be carried out: the credits or the run end, or the service does not answer as it should. */
export type Obstacle = { readonly kind: "cut" } | { readonly kind: "fault"; readonly because: string };
const CUT: Obstacle = { kind: "cut" };
const fault = (because: string): Obstacle => ({ kind: "fault", because });

/** The service's count of the whole list, after its changes were read without a gap; null: there is none to rely on. */
const countOf = ({ state }: OpenList): number | null => {
  // A count that never agrees would be found wanting in every part.
  if (state.kind !== "reading" || (acceptedGap(state.before) ?? 0) !== 0) return null;
  const { progress, firstMirror } = state.reading;
  if (firstMirror) return null;
  if (progress.kind === "watermark")
    return progress.coverage.proven && progress.sorted ? progress.coverage.total : null;
  return progress.kind === "filter" && progress.coverage.proven && !progress.only ? progress.total : null;
};

export const rowsOf = ({ state }: OpenList): number => liveOf(state).rows;

export const factsOf = async ({ run, list, name, part: { field } }: Search): Promise<RowsPerDay> => {
  const days = await run.deps.warehouse.rowsPerDay({ table: name, field });
  return { rows: rowsOf(list), days, pageSize: run.forms.ofStream(name).perPage };
};

/** Asks for one page. Its rows are loaded, whatever the search makes of them. A search belongs to the reading of changes that began it. */
export const ask = async (
  { run, list, name, part }: Search,
  { day, page }: CountRequest,
): Promise<CountedPage | Obstacle> => {
  const shape = run.forms.ofStream(name);
  const call = partCall(list.stream, { ...part, day: day === null ? null : filterDate(day) }, page, shape, run.options);
  const granted = call.query.onlyWithFields === undefined ? shape.inDefault : shape.grants;
  const result = await fetchAndLoad(run, { stream: name, call, work: "look", walkId: null, granted });
  if (result.kind === "no-credit") run.ending.stop(result.error);
  if (["no-credit", "no-budget", "ended"].includes(result.kind)) return CUT;
  if (result.kind !== "answer")
    return fault(result.kind === "failed" ? result.error.message : "the service refuses the date filter");
  const { data, page: meta } = result.outcome;
  if (!Array.isArray(data) || result.counts === null) return fault("the answer to the date filter is no page");
  run.work.adjustRows(list, result.counts.inserted);
  run.stats.countLoad(name, result.counts);
  const ids = data.flatMap((record) => idOf(record) ?? []);
  return { total: meta.totalCount, ids, times: data.map((record) => timeOf(record, part.field)) };
};

/** Deletes the rows of a part that the service does not know by id. `proven`: its 404s can be trusted. */
const settlePart = async (
  { run, list, name, part }: Search,
  { cut }: Counting,
  { part: { from, to }, seen, most }: Extract<CountingStep, { kind: "settle" }>,
  proven: boolean,
): Promise<Obstacle | null> => {
  const bound = (day: number | null) => (day === null || cut === null ? null : boundOf(cut, day));
  const limit = most + MOST_ALIVE;
  const between = { table: name, field: part.field, from: bound(from), to: bound(to), besides: [...seen], limit };
  const { gone, obstacle } = await fetchRowsById(run, list, await run.deps.warehouse.rowsBetween(between), {
    isEnough: (soFar) => soFar.gone >= most || soFar.alive + soFar.moved >= MOST_ALIVE,
  });
  if (obstacle !== null) {
    if (obstacle.noCredit !== null) run.ending.stop(obstacle.noCredit);
    return CUT;
  }
  if (gone.length === 0) return null;
  if (!proven) {
    const [known] = seen;
    if (known === undefined) return fault("no row of the part is there to prove 404s by");
    const isKnown = await trusts404s(run, list, [known]);
    if (isKnown === null) return CUT;
    if (!isKnown) return fault("the service knows no row by its id, so its 404s prove nothing");
  }
  await moveToHistory(run, list, gone);
  return null;
};

/** Takes steps until the counts agree, or the search ends without. */
const runSearch = async (
  search: Search,
  memory: CountingMemory,
): Promise<{ state: Counting; end: Obstacle | null }> => {
  const { before } = search.part;
  let facts = await factsOf(search);
  const total = countOf(search.list) ?? facts.rows;
  let state = resumeCounting(startCounting(total, facts, filterOf(memory, before).cut), memory, before, facts);
  for (;;) {
    const step = nextCount(state, facts);
    if (step.kind === "agrees") return { state, end: null };
    if (step.kind === "gives-up") return { state, end: fault(step.because) };
    if (step.kind === "ask") {
      const answer = await ask(search, step);
      if ("kind" in answer) return { state, end: answer };
      facts = await factsOf(search);
      state = applyCount(state, facts, step, answer);
      continue;
    }
    const obstacle = await settlePart(search, state, step, state.settled.length > 0);
    if (obstacle !== null) return { state, end: obstacle };
    facts = await factsOf(search);
    state = applySettled(state, facts, step.part);
  }
};

/** Searches by the date filters of the list that are usable now. */
export const searchesOf = (run: Search["run"], list: OpenList, memory: CountingMemory): readonly Search[] => {
  const { name, parts = [] } = list.stream;
  if (!hasDetailRoute(name) || run.forms.isFiltered(name) || !run.forms.ofStream(name).sort) return [];
  const { excludeFields: excluded = [] } = run.options;
  const now = run.deps.clock.now();
  return parts
    .filter(({ before, field }) => isUsable(memory, before, now) && !excluded.includes(`${name}.${field}`))
    .map((part) => ({ run, list, name, part }));
};

/** The search to begin: where rows are gone, a date filter is usable, and counting is cheaper than reading the list. */
const searchFor = async (run: Search["run"], list: OpenList, memory: CountingMemory): Promise<Search | null> => {
  const total = countOf(list);
  const gone = total === null ? 0 : rowsOf(list) - total;
  if (gone <= 0 || gone > MOST_GONE) return null;
  if (guardDeletes(list.stream, { rows: rowsOf(list), missing: gone }, run.options) !== null) return null;
  for (const search of searchesOf(run, list, memory)) {
    const facts = await factsOf(search);
    if (!isWorthCounting(facts, gone)) continue;
    const text = `${search.name}: ${counted(gone, "row")} less than mirrored, found by counting for about ${counted(priceOfCounting(facts, gone), "credit")}`;
    run.deps.emit({ kind: "note", level: "info", text });
    return search;
  }
  return null;
};

/**
 * Deletes the rows that are gone, if counting finds them. `later`: the credits ended; the next run goes on. `walk`: the list is
 * read, because counting does not serve, or failed; it is tried again at growing intervals.
 */
export const deleteByCounting = async (
  run: Run<ExtraRequestParts | "ending" | "ends" | "forms" | "work">,
  list: OpenList,
): Promise<"agrees" | "later" | "walk"> => {
  const { warehouse, clock, emit } = run.deps;
  const key = countingName(list.stream.name);
  const text = (await warehouse.capabilities()).get(key);
  const memory = countingMemory(text);
  const search = await searchFor(run, list, memory);
  if (search === null) return "walk";
  const { before } = search.part;
  const { state, end } = await runSearch(search, memory);
  const now = clock.now();
  const remember = async (next: CountingMemory) => {
    const value = JSON.stringify(next);
    if (value !== text) await warehouse.setCapability(key, value, now);
  };
  if (end === null) {
    await remember(afterFound(memory, before, state.cut));
    list.transition({ kind: "counted", total: state.total });
    return "agrees";
  }
  if (end.kind === "fault") {
    emit({ kind: "note", level: "info", text: `${search.name}: counting by ${before} failed: ${end.because}` });
    await remember(afterFailure(memory, before, end.because, now));
    return "walk";
  }
  await remember(afterCut(memory, before, state, await factsOf(search)));
  await leaveUndecided(run, list);
  return "later";
};
