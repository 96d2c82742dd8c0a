// Strategies watermark and filter, decision by decision: when changes are read to the end, and when a walk is needed.
import { expect, test } from "vitest";
import { acceptWatermark, nextWatermark, startWatermark } from "../../../../../src/sync/list/ways/changes.ts";
import { acceptFilter, nextFilter, startFilter } from "../../../../../src/sync/list/ways/filter.ts";
import { cover, facts, NOTHING_NEW, page, resumed } from "./readings.ts";

const start = startWatermark({ size: 5, since: 100 });
const values = (...known: (number | null)[]) => known;
const read = (ids: readonly string[], known: readonly (number | null)[], total: number | null) =>
  acceptWatermark(start, page({ ids, values: known, total }));

test("it starts at the head and waits for each page", () => {
  expect(start).toMatchObject({ kind: "watermark", pages: 0, since: 100, sorted: true, reachedKnown: false });
  expect(start.coverage).toMatchObject({ overlap: true, size: 5 });
  expect(nextWatermark(start, facts(), [], "updatedAt")).toEqual({ kind: "read", reads: [cover(1)] });
  expect(nextWatermark(start, facts(), [cover(1)], "updatedAt")).toEqual({ kind: "wait" });
});

test("a value before the moment, or none at all, ends the changes", () => {
  expect(read(["a", "b"], values(300, 200), 9)).toMatchObject({ pages: 1, reachedKnown: false });
  expect(read(["a", "b"], values(300, 100), 9).reachedKnown).toBe(false);
  expect(read(["a", "b"], values(300, 99), 9).reachedKnown).toBe(true);
  expect(read(["a", "b"], values(300, null), 9).reachedKnown).toBe(true);
  expect(read([], values(), 0).reachedKnown).toBe(false);
  const later = acceptWatermark(read(["a"], values(300), 9), page({ page: 2, ids: ["b"], values: [50], total: 9 }));
  expect(later).toMatchObject({ reachedKnown: true, pages: 2 });
  expect(acceptWatermark(later, page({ page: 3, ids: ["c"], values: [], total: 9 })).reachedKnown).toBe(true);
});

test.each([
  [values(3, 2, 1), true],
  [values(3, 3), true],
  [values(3, null, null), true],
  [values(null, 3), false],
  [values(2, 3), false],
  [values(), true],
])("values %j are sorted: %s", (known, sorted) => {
  const ids = known.map((_, index) => `r${index}`);
  expect(read(ids, known, 9).sorted).toBe(sorted);
  const after = acceptWatermark(read(ids, known, 9), page({ page: 2, ids: ["z"], values: [0], total: 9 }));
  expect(after.sorted).toBe(sorted);
});

test("a list that is not sorted is said to be, and whether its count is the mirror's; one that moved is walked", () => {
  const unordered = { kind: "unordered", because: "the service does not sort by updatedAt" };
  const unsorted = read(["a", "b"], values(1, 2), 9);
  expect(nextWatermark(unsorted, facts(), [], "updatedAt")).toEqual({ ...unordered, agrees: false });
  expect(nextWatermark(unsorted, facts({ rows: 9 }), [], "updatedAt")).toEqual({ ...unordered, agrees: true });
  const sorted = read(["a"], values(1), 9);
  const unproven = { ...sorted, coverage: { ...sorted.coverage, proven: false } };
  expect(nextWatermark(unproven, facts(), [], "updatedAt")).toEqual({
    kind: "walk",
    because: "the list moved while its changes were read",
  });
});

test("a list within one page is a whole; with the same figures over two pages it is not", () => {
  const one = read(["a", "b"], values(300, 200), 2);
  expect(nextWatermark(one, facts({ seen: 2, rows: 2 }), [], "x")).toEqual({
    kind: "done",
    addsUp: true,
    whole: true,
  });
  expect(nextWatermark(one, facts({ seen: 1, rejected: 1, rows: 2 }), [], "x")).toMatchObject({ addsUp: true });
  const unsorted = read(["a", "b"], values(200, 300), 2);
  expect(nextWatermark(unsorted, facts({ seen: 2, rows: 2 }), [], "x")).toMatchObject({ addsUp: true, whole: true });
  expect(nextWatermark(unsorted, facts({ seen: 1, rows: 2 }), [], "x")).toMatchObject({ kind: "unordered" });
  const quietly = { kind: "done", addsUp: false, whole: false };
  expect(nextWatermark(one, facts({ seen: 1, rows: 2 }), [], "x")).toEqual(quietly);
  expect(nextWatermark({ ...one, pages: 2 }, facts({ seen: 2, rows: 2 }), [], "x")).toEqual(quietly);
  const uncounted = { ...one, coverage: { ...one.coverage, total: null } };
  expect(nextWatermark(uncounted, facts({ seen: 2, rows: 2 }), [], "x")).toEqual(quietly);
});

test("before its first page, a page of another reading that brought nothing new ends nothing", () => {
  const start = startWatermark({ size: 5, since: 0 });
  const head = { kind: "read", reads: [{ page: 1, perPage: 5, role: "cover" }] };
  expect(nextWatermark(start, facts({ rows: 20, last: NOTHING_NEW }), [], "x")).toEqual(head);
});

test("it reads on until a known change, or a page of nothing new with counts that agree", () => {
  const ids = ["a", "b", "c", "d", "e"];
  const first = read(ids, values(500, 400, 300, 200, 150), 20);
  const on = { kind: "read", reads: [expect.objectContaining({ role: "cover" })] };
  expect(nextWatermark(first, facts({ rows: 20 }), [], "x")).toEqual(on);
  expect(nextWatermark(first, facts({ rows: 20, last: { ...NOTHING_NEW, inserted: 1 } }), [], "x")).toEqual(on);
  expect(nextWatermark(first, facts({ rows: 20, last: { ...NOTHING_NEW, updated: 1 } }), [], "x")).toEqual(on);
  expect(nextWatermark(first, facts({ rows: 19, last: NOTHING_NEW }), [], "x")).toEqual(on);
  expect(nextWatermark(first, facts({ rows: 20, last: NOTHING_NEW }), [], "x")).toMatchObject({ kind: "done" });
  expect(nextWatermark(first, facts({ rows: 18, acceptedGap: 2, last: NOTHING_NEW }), [], "x")).toMatchObject({
    kind: "done",
  });
  const known = { ...first, reachedKnown: true };
  expect(nextWatermark(known, facts({ rows: 20 }), [], "x")).toMatchObject({ kind: "done" });
  expect(nextWatermark(known, facts({ rows: 19 }), [], "x")).toEqual({
    kind: "walk",
    because: "the service counts 20 rows, the mirror 19",
  });
  expect(nextWatermark(known, facts({ rows: 18, acceptedGap: 2 }), [], "x")).toMatchObject({ kind: "done" });
});

const filtered = startFilter({ size: 5, since: 100 });

test("it reads the filtered list from the head, one page at a time", () => {
  expect(filtered).toMatchObject({ kind: "filter", since: 100, coverage: { size: 5, overlap: true } });
  expect(nextFilter(filtered, facts(), [])).toEqual({ kind: "read", reads: [cover(1)] });
  expect(nextFilter(filtered, facts(), [cover(1)])).toEqual({ kind: "wait" });
  const first = acceptFilter(filtered, page({ ids: ["a", "b", "c", "d", "e"], values: [3, 9, 4, 1, 2], total: 9 }));
  expect(nextFilter(first, facts(), [])).toMatchObject({ kind: "read", reads: [{ role: "cover" }] });
});

test("a record that the filter leaves out by days, or without a date, shows that it is ignored; an excerpt takes it", () => {
  const DAY = 86_400_000;
  const after = (value: number | null, only = false) => {
    const read = page({ ids: ["a", "b"], values: [30 * DAY, value], total: 2 });
    return nextFilter(acceptFilter(startFilter({ size: 5, since: 20 * DAY, only }), read), facts({ matching: 2 }), []);
  };
  expect([after(18 * DAY), after(18 * DAY - 1), after(null)].map(({ kind }) => kind)).toEqual([
    "done",
    "unfiltered",
    "unfiltered",
  ]);
  expect(after(null, true)).toMatchObject({ kind: "done" });
});

test("done when the counts agree, a walk when they do not or the list moved", () => {
  const whole = acceptFilter(filtered, page({ ids: ["a", "b"], values: [2, 1], total: 2 }));
  expect(nextFilter(whole, facts({ matching: 2 }), [cover(2)])).toEqual({ kind: "wait" });
  const done = { kind: "done", addsUp: false, whole: false };
  expect(nextFilter(whole, facts({ matching: 2 }), [])).toEqual(done);
  expect(nextFilter(whole, facts({ matching: null }), [])).toEqual(done);
  const uncounted = { ...whole, coverage: { ...whole.coverage, total: null } };
  expect(nextFilter(uncounted, facts({ matching: 7 }), [])).toEqual(done);
  expect(nextFilter(whole, facts({ matching: 3 }), [])).toEqual({
    kind: "walk",
    because: "the service counts 2 recent changes, the mirror 3",
  });
  const unproven = { ...whole, coverage: { ...whole.coverage, proven: false } };
  expect(nextFilter(unproven, facts({ matching: 2 }), [])).toEqual({
    kind: "walk",
    because: "the list moved while its changes were read",
  });
});

test("a list that is counted is counted first, and walked if the mirror's rows differ after its changes were read", () => {
  const counting = startFilter({ size: 5, since: 100, counted: true });
  expect(nextFilter(counting, facts(), [])).toEqual({ kind: "read", reads: [cover(1)] });
  // Its rows are those of the whole list, so their dates say nothing about the filter.
  const head = acceptFilter(counting, page({ ids: ["a", "b", "c", "d", "e"], values: [200, null, 1, 1, 1], total: 9 }));
  expect(nextFilter(head, facts({ rows: 8 }), [])).toEqual({ kind: "read", reads: [cover(1)] });
  const read = acceptFilter(head, page({ ids: ["f"], values: [300], total: 1 }));
  expect(read).toMatchObject({ total: 9, coverage: { total: 1, complete: true } });
  expect(nextFilter(read, facts({ rows: 9, matching: 1 }), [])).toMatchObject({ kind: "done" });
  expect(nextFilter(read, facts({ rows: 8, acceptedGap: 1, matching: 1 }), [])).toMatchObject({ kind: "done" });
  const differs = { kind: "walk", because: "the service counts 9 rows, the mirror 10" };
  expect(nextFilter(read, facts({ rows: 10, matching: 1 }), [])).toEqual(differs);
  expect(resumed(head)).toMatchObject({ counting: false, total: 9 });
});
