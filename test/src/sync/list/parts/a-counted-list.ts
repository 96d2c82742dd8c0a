// A list of a service in memory, its mirror, and the search for gone rows between them: what a search costs, and what it finds.
import {
  applyCount,
  applySettled,
  type Counting,
  type CountingStep,
  type CountRequest,
  nextCount,
  startCounting,
} from "../../../../../src/sync/list/parts/counting.ts";
import type { CountedPage } from "../../../../../src/sync/list/parts/filter-meaning.ts";
import {
  type Cut,
  DAY_MS,
  type Day,
  isBefore,
  type Part,
  type RowsPerDay,
} from "../../../../../src/sync/list/parts/rows-per-day.ts";

export interface Dated {
  readonly id: string;
  /** ms since the epoch; null: without a date. */
  readonly time: number | null;
}

/** What a service may make of its `before` filter. */
export type Meaning = Cut | "ignored" | "other-zone" | "other-field" | "uncounted" | "unsorted";

const START = Date.UTC(2024, 0, 1);

/** Rows over so many days; `byDay`: all of them at midnight. */
export const someRows = (
  count: number,
  random: () => number,
  { days = 700, byDay = false, undated = 0 }: { days?: number; byDay?: boolean; undated?: number } = {},
): Dated[] =>
  Array.from({ length: count }, (_, at) => {
    // More of them lately, as in a life.
    const time = START + Math.floor(Math.sqrt(random()) * days * DAY_MS);
    return { id: String(at), time: at < undated ? null : byDay ? Math.floor(time / DAY_MS) * DAY_MS : time };
  });

const timeIn = ({ time }: Dated) => time ?? Number.NEGATIVE_INFINITY;
const ZONE_MS = 5.5 * 3_600_000;

/** A list in descending order of its dates, undated rows last. */
export class CountedService {
  readonly rows: Dated[];
  readonly meaning: Meaning;
  readonly size: number;
  credits = 0;
  constructor(rows: readonly Dated[], meaning: Meaning, size: number) {
    this.rows = [...rows].sort((a, b) => timeIn(b) - timeIn(a));
    this.meaning = meaning;
    this.size = size;
  }

  /** A row comes, the newest one. */
  add(row: Dated): void {
    this.rows.unshift(row);
  }

  /** Any row goes. */
  drop(random: () => number): void {
    this.rows.splice(Math.floor(random() * this.rows.length), 1);
  }

  private isIn(row: Dated, day: number): boolean {
    if (this.meaning === "ignored") return true;
    const cut = this.meaning === "inclusive" || this.meaning === "whole-day" ? this.meaning : "exclusive";
    return isBefore(cut, day, timeIn(row) + (this.meaning === "other-zone" ? ZONE_MS : 0));
  }

  /** Rows that the filter returns. Those of an ordered list are a range of it, which is not copied: there are 300,000. */
  private before(day: number | null): { readonly rows: readonly Dated[]; readonly from: number; readonly to: number } {
    const all = { rows: this.rows, from: 0, to: this.rows.length };
    if (day === null) return all;
    if (this.meaning === "other-field") {
      const rows = this.rows.filter(({ id }) => Number(id) * 40 * 60_000 + START < day);
      return { rows, from: 0, to: rows.length };
    }
    let [low, high] = [0, this.rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const row = this.rows[middle];
      if (row !== undefined && this.isIn(row, day)) high = middle;
      else low = middle + 1;
    }
    let to = this.rows.length;
    while (to > low && this.rows[to - 1]?.time === null) to -= 1;
    return { ...all, from: low, to };
  }

  page({ day, page }: CountRequest): CountedPage {
    this.credits += 1;
    const { rows, ...range } = this.before(day);
    const from = range.from + (page - 1) * this.size;
    const shown = rows.slice(from, Math.min(from + this.size, range.to));
    if (this.meaning === "unsorted") shown.reverse();
    return {
      total: this.meaning === "uncounted" ? null : range.to - range.from,
      ids: shown.map(({ id }) => id),
      times: shown.map(({ time }) => time),
    };
  }

  /** By id: a 200 costs a credit. */
  has(id: string): boolean {
    const found = this.rows.some((row) => row.id === id);
    if (found) this.credits += 1;
    return found;
  }
}

/** The mirror, which counts its rows per day as they come and go. */
export class CountedMirror {
  readonly rows = new Map<string, Dated>();
  private readonly days = new Map<number, { rows: number; atMidnight: number }>();
  constructor(rows: Iterable<Dated>) {
    for (const row of rows) this.set(row);
  }

  private count({ time }: Dated, by: 1 | -1): void {
    if (time === null) return;
    const day = Math.floor(time / DAY_MS) * DAY_MS;
    const { rows, atMidnight } = this.days.get(day) ?? { rows: 0, atMidnight: 0 };
    this.days.set(day, { rows: rows + by, atMidnight: atMidnight + (time === day ? by : 0) });
  }

  set(row: Dated): void {
    if (this.rows.has(row.id)) return;
    this.rows.set(row.id, row);
    this.count(row, 1);
  }

  delete(row: Dated): void {
    if (this.rows.delete(row.id)) this.count(row, -1);
  }

  facts(pageSize: number): RowsPerDay {
    const days: Day[] = [...this.days].map(([day, counts]) => ({ day, ...counts })).sort((a, b) => a.day - b.day);
    return { rows: this.rows.size, days, pageSize };
  }
}

const isInPart = (cut: Cut, { from, to }: Part, time: number | null): boolean =>
  (time === null ? to === null : to === null || isBefore(cut, to, time)) &&
  (from === null || time === null || !isBefore(cut, from, time));

export interface Found {
  readonly end: Extract<CountingStep, { kind: "agrees" | "gives-up" }>;
  readonly state: Counting;
  readonly credits: number;
  /** Rows deleted that the service still holds. */
  readonly wrong: number;
}

/** Settles one part: free 404s, until so many are gone or three are there. */
const settle = (
  service: CountedService,
  mirror: CountedMirror,
  cut: Cut,
  part: Part,
  seen: ReadonlySet<string>,
  most: number,
) => {
  let [gone, alive] = [0, 0];
  for (const row of [...mirror.rows.values()].filter(({ id, time }) => isInPart(cut, part, time) && !seen.has(id))) {
    if (gone >= most || alive >= 3) break;
    if (service.has(row.id)) alive += 1;
    else {
      mirror.delete(row);
      gone += 1;
    }
  }
  return gone;
};

/** Searches until it ends. `meanwhile`: called before every request. */
export const searchGone = (
  service: CountedService,
  mirror: CountedMirror,
  { cut = null, meanwhile = () => undefined }: { cut?: Cut | null; meanwhile?: (request: number) => void } = {},
): Found => {
  const facts = () => mirror.facts(service.size);
  const before = service.credits;
  let state = startCounting(service.rows.length, facts(), cut);
  let controlled = false;
  for (let request = 1; request < 5_000; request++) {
    const step = nextCount(state, facts());
    if (step.kind === "agrees" || step.kind === "gives-up") {
      const wrong = service.rows.filter(({ id }) => !mirror.rows.has(id)).length;
      return { end: step, state, credits: service.credits - before, wrong };
    }
    if (step.kind === "ask") {
      meanwhile(request);
      const answer = service.page(step);
      for (const [at, id] of answer.ids.entries()) mirror.set({ id, time: answer.times[at] ?? null });
      state = applyCount(state, facts(), step, answer);
      continue;
    }
    const gone = settle(service, mirror, state.cut ?? "exclusive", step.part, new Set(step.seen), step.most);
    if (gone > 0 && !controlled) {
      service.credits += 1;
      controlled = true;
    }
    state = applySettled(state, facts(), step.part);
  }
  throw new Error("the search never ends");
};

/** A mirror of the rows, and a service without so many of them, scattered. */
export const withGone = (rows: readonly Dated[], gone: number, meaning: Meaning, random: () => number, size = 100) => {
  const mirror = new CountedMirror(rows);
  const left = [...rows];
  for (let count = 0; count < gone; count++) left.splice(Math.floor(random() * left.length), 1);
  return { mirror, service: new CountedService(left, meaning, size) };
};
