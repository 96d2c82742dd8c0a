// Checks of `verify` on a list whose counts differ: finds the range of days that differs, and the rows in it, by counts of its parts
// (list/parts/comparing.ts decides each step). Each count brings a page of rows, which it compares field by field.

import { type StreamSpec, streamSpec } from "../../catalog/streams.ts";
import type { ScopedTable } from "../../catalog/tables.ts";
import { counted } from "../../core/text/units.ts";
import { filterDate } from "../../core/time.ts";
import type { DateBound } from "../../warehouse/load/suspects.ts";
import { applyComparison, type ComparingStep, nextComparison, startComparing } from "../list/parts/comparing.ts";
import { applyCount, type Counting, type CountRequest, partsOf } from "../list/parts/counting.ts";
import type { CountedPage } from "../list/parts/filter-meaning.ts";
import { countingMemory, countingName, filterOf } from "../list/parts/filter-memory.ts";
import { boundOf, DAY_MS, type Part, type RowsPerDay } from "../list/parts/rows-per-day.ts";
import { acceptedGap } from "../list/state.ts";
import { stateKey } from "../plan/candidate.ts";
import { partCall } from "../request/calls.ts";
import { idOf, timeOf } from "../rows/loads.ts";
import { isScoped } from "../rows/row-scope.ts";
import { failing, finding, formOf, NOTHING, vanished } from "./check-lists.ts";
import { compareResponse, unprovenDifference, verdictOnRows } from "./judge-difference.ts";
import type { Difference, Finding } from "./report.ts";
import { sendCheck, type VerifyRun } from "./verify-run.ts";

/** One comparison: what stays the same from step to step, and what it has found. */
interface Comparison {
  readonly run: VerifyRun;
  readonly stream: StreamSpec;
  readonly name: ScopedTable;
  readonly part: { readonly before: string; readonly field: string };
  readonly differences: Difference[];
  readonly compared: Set<string>;
}

const whereOf = ({ name }: Comparison) => ({ stream: name, scope: "" });

const factsOf = async ({ run, name, part: { field } }: Comparison): Promise<RowsPerDay> => {
  const { warehouse } = run.deps;
  const days = await warehouse.rowsPerDay({ table: name, field });
  return { rows: await warehouse.countRows(name), days, pageSize: formOf(run, name).perPage };
};

/** Asks for one page, compares its rows, and loads them on repair. */
const askPart = async (about: Comparison, { day, page }: CountRequest): Promise<CountedPage | Finding> => {
  const { run, stream, name, part, differences, compared } = about;
  const on = day === null ? null : filterDate(day);
  const call = partCall(stream, { ...part, day: on }, page, formOf(run, name), run.options);
  const reply = await sendCheck(run, { ...whereOf(about), call });
  if (reply.kind !== "answer") return failing(reply);
  const { data, page: meta } = reply.outcome;
  if (day === null && meta.totalCount !== null) run.totals.set(name, meta.totalCount);
  const own = await compareResponse(run, whereOf(about), reply);
  differences.push(...own.differences);
  for (const id of own.ids) compared.add(id);
  const records = Array.isArray(data) ? data : [];
  return {
    total: meta.totalCount,
    ids: records.flatMap((record) => idOf(record) ?? []),
    times: records.map((record) => timeOf(record, part.field)),
  };
};

/** Rows of the part that its pages did not return are asked for by id. */
const settle = async (about: Comparison, { cut }: Counting, { part: { from, to }, seen }: SettleStep, most: number) => {
  const { run, stream, name, part, differences } = about;
  const bound = (day: number | null): DateBound | null => (day === null || cut === null ? null : boundOf(cut, day));
  const between = { table: name, field: part.field, from: bound(from), to: bound(to), besides: [...seen], limit: most };
  const gone = await vanished(run, stream, "", await run.deps.warehouse.rowsBetween(between));
  differences.push(...gone.differences);
  return gone.note;
};
type SettleStep = Extract<ComparingStep, { kind: "settle" }>;

const dayText = (day: number): string => filterDate(day).slice(0, 10);

/** `date=2026-01-03..2026-01-09`: the days of a part; a bound that the filter includes belongs to it. */
const rangeOf = ({ part: { field } }: Comparison, { cut }: Counting, { from, to }: Part): string => {
  const last = to === null ? "" : dayText(cut === "exclusive" ? to - DAY_MS : to);
  return `${field}=${from === null ? "" : dayText(cut === "whole-day" ? from + DAY_MS : from)}..${last}`;
};

/** Parts whose counts differ, and the whole list's count if it did. */
const countsOf = (about: Comparison, state: Counting, facts: RowsPerDay, rows: number): readonly Difference[] => {
  const { run, differences } = about;
  const where = whereOf(about);
  const isWrong = differences.some(({ verdict }) => verdict === "wrong");
  const verdict = isWrong ? "wrong" : verdictOnRows(run, where);
  const parts = partsOf(state, facts).filter(({ difference, from, to }) => difference !== 0 && (from ?? to) !== null);
  const whole = { mirror: String(rows), api: String(state.total), verdict, repaired: facts.rows === state.total };
  return [
    ...(rows === state.total ? [] : [unprovenDifference("count", where, whole)]),
    ...parts.map((each) => {
      const [mirror, api] = [String(each.count + each.difference), String(each.count)];
      return unprovenDifference("count", where, { field: rangeOf(about, state, each), mirror, api, verdict });
    }),
  ];
};

/** What the comparison proves, and what not. */
const noteOf = ({ compared }: Comparison, state: Counting, facts: RowsPerDay): string => {
  const parts = partsOf(state, facts);
  const agree = parts.filter(({ difference }) => difference === 0);
  const read = parts.filter((part) => state.settled.some(({ from, to }) => from === part.from && to === part.to));
  const largest = Math.max(0, ...agree.filter((part) => !read.includes(part)).map(({ count }) => count));
  const rows = `${agree.length} of ${counted(parts.length, "part")} agree by count, ${read.length} were compared whole (${counted(compared.size, "row")})`;
  return largest === 0
    ? rows
    : `${rows}; counts prove no values, and a row that came and one that went balance within a part of up to ${counted(largest, "row")}`;
};

/** Why the list is not compared by parts; null: it is. */
const obstacle = (run: VerifyRun, name: ScopedTable): string | null => {
  if (isScoped(run.options.rowScope, name)) return "a list with a scope is not compared by parts";
  if ((acceptedGap(run.states.get(stateKey(name, ""))) ?? 0) !== 0)
    return "the service's count of the list never agrees with its rows";
  return run.shapes.get(name)?.sort === false ? "the service does not sort the list" : null;
};

/** Takes steps until every part is compared or the credits are spent. */
const compareOn = async (about: Comparison, cut: Counting["cut"], limit: number): Promise<Finding> => {
  let facts = await factsOf(about);
  const { rows } = facts;
  let state = startComparing(facts, cut, limit);
  let note: string | null = null;
  const found = (because: string | null = null): Finding => {
    const all = [...about.differences, ...(state.head === null ? [] : countsOf(about, state, facts, rows))];
    return finding(about.compared.size, all, because ?? note ?? noteOf(about, state, facts));
  };
  for (;;) {
    const step = nextComparison(state, facts);
    if (step.kind === "ends") return state.head === null ? { ...NOTHING, note: "no credits left" } : found();
    if (step.kind === "gives-up") return found(`counting by ${about.part.before}: ${step.because}`);
    if (step.kind === "ask") {
      const answer = await askPart(about, step);
      if ("status" in answer) return answer.status === "stopped" && state.head !== null ? found() : answer;
      facts = await factsOf(about);
      state = applyCount(state, facts, step, answer);
      continue;
    }
    note = (await settle(about, state, step, facts.pageSize)) ?? note;
    facts = await factsOf(about);
    state = applyComparison(state, step.part);
  }
};

/** Compares a list by counts of its parts, with `limit` credits. */
export const checkParts = async (run: VerifyRun, name: ScopedTable, limit: number): Promise<Finding> => {
  const stream = streamSpec(name);
  const because = obstacle(run, name);
  if (because !== null) return { ...NOTHING, note: because };
  const memory = countingMemory((await run.deps.warehouse.capabilities()).get(countingName(name)));
  const excluded = run.options.excludeFields ?? [];
  const part = (stream.parts ?? []).find(({ field }) => !excluded.includes(`${name}.${field}`));
  if (part === undefined) return { ...NOTHING, note: "the field that the filter takes is not mirrored" };
  const about = { run, stream, name, part, differences: [], compared: new Set<string>() };
  return compareOn(about, filterOf(memory, part.before).cut, limit);
};
