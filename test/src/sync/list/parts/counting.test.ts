// Counts of parts: the search for rows that are gone, the comparison of a list with its mirror, where days are cut, and what is
// remembered. Services may mean something else by their filters, and lists change while they are counted.
import { expect, test } from "vitest";
import {
  applyComparison,
  nextComparison,
  openParts,
  startComparing,
} from "../../../../../src/sync/list/parts/comparing.ts";
import { applyCount, nextCount, partsOf, startCounting } from "../../../../../src/sync/list/parts/counting.ts";
import {
  afterCut,
  afterFailure,
  afterFound,
  countingMemory,
  filterOf,
  resumeCounting,
} from "../../../../../src/sync/list/parts/filter-memory.ts";
import {
  CUTS,
  type Cut,
  DAY_MS,
  isBefore,
  middleDay,
  rowsBefore,
} from "../../../../../src/sync/list/parts/rows-per-day.ts";
import { seededRandom } from "../../../../support/chance.ts";
import { CountedMirror, CountedService, type Meaning, searchGone, someRows, withGone } from "./a-counted-list.ts";

const prepared = (seed: number, gone: number, meaning: Meaning, rows = 6_000, more = {}) => {
  const random = seededRandom(seed);
  return { random, ...withGone(someRows(rows, random, more), gone, meaning, random) };
};

test.each(["ignored", "other-field", "uncounted", "unsorted", "other-zone"] as const)(
  "a filter that is %s is found out within five credits, and nothing is deleted falsely",
  (meaning) => {
    for (let seed = 1; seed <= 20; seed++) {
      const { service, mirror } = prepared(seed, 1 + (seed % 5), meaning, meaning === "other-zone" ? 30_000 : 6_000);
      const { end, credits, wrong } = searchGone(service, mirror);
      expect([seed, end.kind, wrong]).toEqual([seed, "gives-up", 0]);
      expect([seed, Math.max(5, credits)]).toEqual([seed, 5]);
    }
  },
);

test("a service that forgets its filter between two searches is found out by the next page", () => {
  const { service, mirror } = prepared(1, 2, "ignored");
  const { end, credits } = searchGone(service, mirror, { cut: "exclusive" });
  expect([end.kind, credits]).toEqual(["gives-up", 1]);
});

test("rows that come and go at the head while parts are counted change nothing", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const { service, mirror, random } = prepared(seed, 5, "exclusive");
    const newest = Math.max(...service.rows.map(({ time }) => time ?? 0));
    const { end } = searchGone(service, mirror, {
      meanwhile: (request) => service.rows.unshift({ id: `new${request}`, time: newest + 1000 * request + random() }),
    });
    expect([seed, end.kind]).toEqual([seed, "agrees"]);
    expect(service.rows.filter(({ id }) => !mirror.rows.has(id) && !id.startsWith("new"))).toEqual([]);
  }
});

test("rows that go while parts are counted are found too, or the search gives up; no row that is there is deleted", () => {
  let found = 0;
  for (let seed = 1; seed <= 30; seed++) {
    const { service, mirror, random } = prepared(seed, 4, "whole-day");
    const { end, wrong } = searchGone(service, mirror, {
      cut: "whole-day",
      meanwhile: (request) => {
        if (request === 6) service.rows.splice(Math.floor(random() * service.rows.length), 1);
      },
    });
    expect([seed, wrong]).toEqual([seed, 0]);
    if (end.kind === "agrees") found += 1;
  }
  expect(found).toBeGreaterThan(25);
});

test("rows without a date are in no part: if one of them is gone, the list is walked", () => {
  const { service, mirror } = prepared(3, 0, "exclusive", 6_000, { undated: 40 });
  const undated = service.rows.findIndex(({ time }) => time === null);
  service.rows.splice(undated, 1);
  const { end, credits } = searchGone(service, mirror);
  expect([end.kind, credits <= 4]).toEqual(["gives-up", true]);
  const dated = prepared(4, 0, "exclusive", 6_000, { undated: 40 });
  dated.service.rows.splice(2_000, 1);
  const other = searchGone(dated.service, dated.mirror);
  expect([other.end.kind, other.credits < 14]).toEqual(["agrees", true]);
});

test("a mirror that lacks rows asks for nothing, and one that agrees is done", () => {
  const { service, mirror } = prepared(1, 0, "exclusive");
  const facts = mirror.facts(100);
  expect(nextCount(startCounting(facts.rows, facts, null), facts)).toEqual({ kind: "agrees" });
  const state = startCounting(facts.rows + 1, facts, null);
  const step = nextCount(state, facts);
  expect(step).toEqual({ kind: "ask", day: null, page: 1 });
  const again = applyCount(state, facts, { day: null, page: 1 }, service.page({ day: null, page: 1 }));
  expect(nextCount(again, facts)).toEqual({ kind: "agrees" });
  expect(new CountedService([], "exclusive", 10).page({ day: null, page: 1 }).total).toBe(0);
});

const SIZE = 100;

/** Compares until the credits are spent; which of `missing` and `gone` it has found after how many. */
const compare = (service: CountedService, mirror: CountedMirror, limit: number, cut: Cut | null = null) => {
  const facts = mirror.facts(SIZE);
  const found = new Map<string, number>();
  let state = startComparing(facts, cut, limit);
  for (;;) {
    const step = nextComparison(state, facts);
    if (step.kind === "ends" || step.kind === "gives-up") return { step, state, facts, found };
    if (step.kind === "ask") {
      const answer = service.page(step);
      for (const id of answer.ids) if (!mirror.rows.has(id)) found.set(id, found.get(id) ?? service.credits);
      state = applyCount(state, facts, step, answer);
      continue;
    }
    const { from, to } = step.part;
    const known = state.cut ?? "exclusive";
    for (const { id, time } of mirror.rows.values()) {
      const isIn =
        time !== null && (to === null || isBefore(known, to, time)) && !(from !== null && isBefore(known, from, time));
      if (isIn && !step.seen.includes(id)) found.set(id, found.get(id) ?? service.credits);
    }
    state = applyComparison(state, step.part);
  }
};

/** A list in which one row is gone and one came, anywhere, since it was mirrored. */
const exchanged = (seed: number, rows: number, meaning: Meaning = "exclusive") => {
  const random = seededRandom(seed);
  const all = someRows(rows + 1, random);
  const [added, gone] = [all[Math.floor(random() * rows)], all[rows]];
  const mirror = new CountedMirror(all.filter((row) => row !== added));
  const service = new CountedService(
    all.filter((row) => row !== gone),
    meaning,
    SIZE,
  );
  return { mirror, service, ids: [added?.id ?? "", gone?.id ?? ""] };
};

test("one row gone and one added among 30,000 are found for a tenth of what reading pages takes", () => {
  const credits = Array.from({ length: 20 }, (_, at) => {
    const { mirror, service, ids } = exchanged(at + 1, 30_000);
    const { found } = compare(service, mirror, 60);
    expect([...found.keys()].sort(), `seed ${at + 1}`).toEqual(ids.sort());
    return Math.max(...found.values());
  }).sort((a, b) => a - b);
  expect(credits[10]).toBeLessThanOrEqual(24);
  expect(credits[19]).toBeLessThanOrEqual(60);
});

test.each<Meaning>(["exclusive", "whole-day"])(
  "an equal list has no part that differs, where a date filter is %s",
  (meaning) => {
    const rows = someRows(3_000, seededRandom(5));
    const { state, facts, found, step } = compare(new CountedService(rows, meaning, SIZE), new CountedMirror(rows), 10);
    expect(step).toEqual({ kind: "ends" });
    expect(partsOf(state, facts).every(({ difference }) => difference === 0)).toBe(true);
    expect([found.size, state.spent, state.cut]).toEqual([0, 10, meaning]);
  },
);

test("with credits for every page, every row is compared", () => {
  const { mirror, service, ids } = exchanged(7, 2_000);
  const { state, facts, found, step } = compare(service, mirror, 80);
  expect([step.kind, openParts(state, facts)]).toEqual(["ends", []]);
  expect([...found.keys()].sort()).toEqual(ids.sort());
});

test.each<Meaning>(["ignored", "other-zone", "uncounted", "unsorted"])(
  "a filter that is %s proves nothing",
  (meaning) => {
    const rows = someRows(3_000, seededRandom(5));
    const { step, found } = compare(new CountedService(rows, meaning, SIZE), new CountedMirror(rows), 10);
    expect(step).toEqual({ kind: "gives-up", because: expect.any(String) });
    expect(found.size).toBe(0);
  },
);

const days = [0, 1, 2, 5].map((at) => ({ day: at * DAY_MS, rows: 10, atMidnight: 4 }));

test("each meaning of the filter cuts a day at another place", () => {
  expect(CUTS.map((cut) => rowsBefore(days, cut, DAY_MS))).toEqual([10, 14, 20]);
  expect(CUTS.map((cut) => rowsBefore(days, cut, 3 * DAY_MS))).toEqual([30, 30, 30]);
  expect(
    CUTS.map((cut) => [DAY_MS - 1, DAY_MS, DAY_MS + 1, 2 * DAY_MS].map((time) => isBefore(cut, DAY_MS, time))),
  ).toEqual([
    [true, false, false, false],
    [true, true, false, false],
    [true, true, true, false],
  ]);
});

test("the middle day leaves rows on both sides, and is null where no day does", () => {
  expect(CUTS.map((cut) => middleDay(days, cut, 0, 40))).toEqual([2 * DAY_MS, 2 * DAY_MS, DAY_MS]);
  expect(middleDay(days, "exclusive", 10, 20)).toBeNull();
});

const EMPTY = countingMemory(undefined);

test("a filter that failed is tried again after a day, two, four, at most 64; success forgets it", () => {
  const waits: number[] = [];
  let memory = EMPTY;
  for (let failure = 1; failure <= 9; failure++) {
    memory = afterFailure(memory, "beforeDate", "ignored", 1000);
    waits.push((filterOf(memory, "beforeDate").notBefore - 1000) / DAY_MS);
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 64, 64]);
  expect(filterOf(afterFound(memory, "beforeDate", "whole-day"), "beforeDate")).toEqual({
    cut: "whole-day",
    failures: 0,
    because: null,
    notBefore: 0,
  });
});

test("stored text is read back; text that cannot be read is forgotten", () => {
  const memory = afterFailure(EMPTY, "beforeDate", "ignored", 0);
  expect(countingMemory(JSON.stringify(memory))).toEqual(memory);
  expect(["{", "3", '{"filters":1}'].map(countingMemory)).toEqual([EMPTY, EMPTY, EMPTY]);
});

test("a search that was cut goes on with its boundaries, also where rows came since; not where more are gone", () => {
  const random = seededRandom(5);
  const { service, mirror } = withGone(someRows(3_000, random), 1, "exclusive", random);
  const day = Math.floor((service.rows[1_500]?.time ?? 0) / DAY_MS) * DAY_MS;
  const asked = { day, page: 1 };
  const facts = mirror.facts(100);
  const begun = startCounting(2_999, facts, "exclusive");
  const state = applyCount(begun, facts, asked, service.page(asked));
  const memory = countingMemory(JSON.stringify(afterCut(EMPTY, "beforeDate", state, facts)));
  expect(memory.open).toMatchObject({ gone: 1, credits: 7, boundaries: [{ day }] });
  mirror.set({ id: "new", time: Date.UTC(2024, 0, 1) });
  const later = mirror.facts(100);
  const resumed = resumeCounting(startCounting(3_000, later, "exclusive"), memory, "beforeDate", later);
  expect(resumed.boundaries).toEqual([{ day, count: (state.boundaries[0]?.count ?? 0) + 1, page: null }]);
  expect(resumeCounting(startCounting(2_999, later, "exclusive"), memory, "beforeDate", later).boundaries).toEqual([]);
});
