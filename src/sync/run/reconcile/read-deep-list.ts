// Reads the rest of a list that is longer than the service returns (LIST_TOO_DEEP), in parts by date: rows `before` a day, as deep as
// the service goes; the day of the last row begins the next part. docs/decisions/end-of-a-list.md.
import type { DuckmirrorError } from "../../../core/errors.ts";
import { counted } from "../../../core/text/units.ts";
import { type CountedPage, faultOf } from "../../list/parts/filter-meaning.ts";
import { afterFailure, type CountingMemory, countingMemory, countingName } from "../../list/parts/filter-memory.ts";
import { CUTS, DAY_MS, type RowsPerDay, rowsBefore } from "../../list/parts/rows-per-day.ts";
import { unconfirmedIn } from "../state/completeness.ts";
import type { OpenList } from "../state/open-list.ts";
import type { Run } from "../state/run-state.ts";
import { ask, factsOf, type Obstacle, rowsOf, type Search, searchesOf } from "./delete-by-counting.ts";
import { rememberWindow } from "./end-at-window.ts";
import type { ExtraRequestParts } from "./extra-requests.ts";

/** How far the service returns the list, and its rows. */
interface Depth {
  readonly reached: number;
  readonly total: number;
}

const depthOf = ({ context }: DuckmirrorError): Depth | null => {
  const [reached, total] = [Number(context.reached), Number(context.total)];
  return Number.isFinite(reached) && Number.isFinite(total) && reached > 0 ? { reached, total } : null;
};

const dayOf = (time: number): number => Math.floor(time / DAY_MS) * DAY_MS;

/** Where a part ended: at the end of the list (null), or at a day from which the next one begins. */
type PartEnd = { readonly kind: "read"; readonly next: number | null; readonly first: CountedPage } | Obstacle;

/** Reads the rows before a day, as deep as the service returns them. */
const readPart = async (search: Search, day: number | null, depth: Depth, size: number): Promise<PartEnd> => {
  let rows = 0;
  let first: CountedPage | null = null;
  for (let page = 1; page * size <= depth.reached; page++) {
    const answer = await ask(search, { day, page });
    if ("kind" in answer) return answer;
    const because = faultOf(answer, day);
    if (because !== null) return { kind: "fault", because };
    first ??= answer;
    rows += answer.ids.length;
    const last = answer.times.at(-1);
    if (last == null || rows >= (answer.total ?? 0)) return { kind: "read", next: null, first };
    if ((page + 1) * size > depth.reached) {
      const next = dayOf(last) + DAY_MS;
      if (day === null || next < day) return { kind: "read", next, first };
    }
  }
  return { kind: "fault", because: "a day has more rows than the service returns" };
};

/**
 * The day from which the rest is read: one after which the mirror already holds as many rows as the service counts; null: there is
 * none. Costs one credit, for the first page of a part that is read anyway if the counts agree.
 */
const beginning = async (
  search: Search,
  { total }: Depth,
  { rows, days }: RowsPerDay,
): Promise<number | null | Obstacle> => {
  const day = days.find((each) => rowsBefore(days, "inclusive", each.day) * 4 >= rows)?.day ?? null;
  if (day === null) return null;
  const answer = await ask(search, { day, page: 1 });
  if ("kind" in answer) return answer;
  const because = faultOf(answer, day);
  if (because !== null) return { kind: "fault", because };
  const later = total - (answer.total ?? 0);
  return CUTS.some((cut) => rows - rowsBefore(days, cut, day) === later) ? day : null;
};

/** The date filter by which the list can be cut: no day of it that is mirrored fills what the service returns. */
const searchFor = async (
  run: Search["run"],
  list: OpenList,
  memory: CountingMemory,
  depth: Depth,
): Promise<Search | null> => {
  if (run.deps.signal.aborted) return null;
  for (const search of searchesOf(run, list, memory)) {
    const { days, rows } = await factsOf(search);
    const dated = days.reduce((sum, each) => sum + each.rows, 0);
    if (dated === rows && days.every((each) => each.rows * 2 <= depth.reached)) return search;
  }
  return null;
};

/** Every row was read. Rows that are gone are found by the next sync; `total` may have changed meanwhile. */
const endRead = async (run: Run<"ends" | "forms">, list: OpenList, total: number): Promise<void> => {
  const rows = rowsOf(list);
  const unconfirmed = unconfirmedIn({ rows, unmet: 0, counted: total, unread: 0 });
  const addsUp = unconfirmed === null;
  // Another reading of the parts would leave the same difference.
  await rememberWindow(run, list, addsUp ? "settled" : "cutOff");
  const more = { totalCount: total, walkedAt: run.deps.clock.now(), rowsAtWalk: addsUp ? rows : null };
  await run.ends.finish(list, { whole: true, addsUp, unconfirmed }, more);
};

/** Takes up the parts where an earlier run left them, until the end of the list. */
const readOn = async (
  search: Search,
  depth: Depth,
  from: number | null | undefined,
  keep: (day: number | null) => Promise<void>,
) => {
  const facts = await factsOf(search);
  // Only a reading of all parts shows rows that changed without a new date.
  const first = () => (search.run.options.full ? null : beginning(search, depth, facts));
  const begun = from === undefined ? await first() : from;
  if (begun !== null && typeof begun === "object") return begun;
  let day = begun;
  let { total } = depth;
  for (;;) {
    const end = await readPart(search, day, depth, facts.pageSize);
    if (end.kind !== "read") return end;
    if (day === null && end.first.total !== null) total = end.first.total;
    if (end.next === null) return { kind: "whole", total } as const;
    day = end.next;
    await keep(day);
  }
};

/** Reads a list by parts whose deeper pages the service refuses. False: it stays labelled, and a later sync goes on. */
export const readDeepList = async (
  run: Run<ExtraRequestParts | "ending" | "ends" | "forms" | "work">,
  list: OpenList,
  error: DuckmirrorError,
): Promise<boolean> => {
  const depth = error.code === "LIST_TOO_DEEP" ? depthOf(error) : null;
  if (depth === null) return false;
  const { warehouse, clock, emit } = run.deps;
  const key = countingName(list.stream.name);
  const memory = countingMemory((await warehouse.capabilities()).get(key));
  const search = await searchFor(run, list, memory, depth);
  if (search === null) return false;
  const { before } = search.part;
  const remember = (next: CountingMemory) => warehouse.setCapability(key, JSON.stringify(next), clock.now());
  const note = (text: string) => emit({ kind: "note", level: "info", text: `${list.stream.name}: ${text}` });
  note(
    `the service returns ${counted(depth.reached, "row")} of ${depth.total}; the rest is read in parts, by ${before}`,
  );
  const from = memory.deep?.before === before ? memory.deep.day : undefined;
  const end = await readOn(search, depth, from, (day) => remember({ ...memory, deep: { before, day } }));
  if (end.kind === "cut") return false;
  if (end.kind === "whole" && rowsOf(list) >= end.total) {
    await remember({ ...memory, deep: null });
    await endRead(run, list, end.total);
    return true;
  }
  const because = end.kind === "fault" ? end.because : "its parts hold fewer rows than the list";
  note(`reading it in parts failed: ${because}`);
  await remember({ ...afterFailure(memory, before, because, clock.now()), deep: null });
  return false;
};
