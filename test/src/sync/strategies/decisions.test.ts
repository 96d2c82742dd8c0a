// What each strategy decides, state by state, to the word: the properties of the other files say what must hold over whole
// histories, these say why each single decision is as it is.
import { describe, expect, test } from "vitest";
import type { MirrorFacts, PageRead, ReadRequest } from "../../../../src/sync/strategies/contract.ts";
import { acceptFilter, nextFilter, startFilter } from "../../../../src/sync/strategies/filter.ts";
import { acceptKnown, nextKnown, startKnown } from "../../../../src/sync/strategies/known.ts";
import { acceptLog, nextLog, startLog } from "../../../../src/sync/strategies/log.ts";
import { endOf, overlappingPages, spanAt, startOf } from "../../../../src/sync/strategies/page-geometry.ts";
import { resumeProgress, serialiseProgress } from "../../../../src/sync/strategies/progress.ts";
import {
  acceptWalk,
  nextWalk,
  secondPass,
  startWalk,
  type WalkState,
  wantsComparison,
  wantsSecondPass,
} from "../../../../src/sync/strategies/walk.ts";
import {
  acceptWatermark,
  nextWatermark,
  readHeadAgain,
  startWatermark,
} from "../../../../src/sync/strategies/watermark.ts";

const NOTHING_NEW = { inserted: 0, updated: 0, unchanged: 5 };
const facts = (more: Partial<MirrorFacts> = {}): MirrorFacts => ({
  rows: 0,
  matching: null,
  seen: 0,
  rejected: 0,
  last: null,
  acceptedGap: 0,
  ...more,
});
const page = (more: Partial<PageRead> & { readonly ids: readonly string[] }): PageRead => ({
  page: 1,
  perPage: 5,
  role: "cover",
  rows: more.ids.length,
  values: [],
  total: null,
  ...more,
});
const cover = (number: number, perPage = 5): ReadRequest => ({ page: number, perPage, role: "cover" });
const descending = (from: number, rows: number) => Array.from({ length: rows }, (_, row) => String(from - row));

describe("page geometry", () => {
  test("a page starts where the one before ends", () => {
    expect([startOf({ page: 1, perPage: 7 }), endOf({ page: 1, perPage: 7 })]).toEqual([0, 7]);
    expect([startOf({ page: 3, perPage: 7 }), endOf({ page: 3, perPage: 7 })]).toEqual([14, 21]);
  });

  test.each([
    [-1, 10, { page: 1, perPage: 10 }],
    [0, 10, { page: 1, perPage: 10 }],
    [10, 10, { page: 2, perPage: 10 }],
    [9, 10, { page: 2, perPage: 9 }],
    [19, 10, { page: 3, perPage: 9 }],
    [11, 10, { page: 2, perPage: 10 }],
    [29, 10, { page: 4, perPage: 9 }],
    [1, 2, { page: 1, perPage: 2 }],
    [3, 1, { page: 4, perPage: 1 }],
    [59, 100, { page: 2, perPage: 59 }],
    [49, 100, { page: 1, perPage: 100 }],
    [99, 100, { page: 2, perPage: 99 }],
  ])("the page at row %i of lists of pages of %i", (at, size, span) => {
    expect(spanAt(at, size)).toEqual(span);
  });

  test("pages that share rows are counted for every size, also where small pages cannot share", () => {
    for (let size = 1; size <= 40; size++) {
      for (let total = 0; total <= 200; total++) {
        const pages = overlappingPages(total, size);
        expect(pages).toBeGreaterThanOrEqual(Math.max(1, Math.ceil(total / size)));
        expect(pages).toBeLessThanOrEqual(Math.max(1, 2 * Math.ceil(total / Math.max(1, size - 1)) + 1));
      }
    }
  });

  test("it starts at the row or before it, reaches beyond it, and no other page of that kind reaches further", () => {
    for (let size = 1; size <= 30; size++) {
      for (let at = 1; at <= 120; at++) {
        const span = spanAt(at, size);
        expect(startOf(span)).toBeLessThanOrEqual(at);
        const reaches = Array.from({ length: size }, (_, index) => size - index)
          .filter((perPage) => perPage >= Math.ceil(size / 2))
          .map((perPage) => perPage - (at % perPage));
        expect(endOf(span) - at).toBe(Math.max(...reaches));
        expect(span.perPage).toBeGreaterThanOrEqual(Math.ceil(size / 2));
        expect(span.perPage).toBeLessThanOrEqual(size);
      }
    }
  });
});

describe("walk", () => {
  const start = startWalk({ size: 5, overlap: false, proof: "descending" });
  const whole = acceptWalk(start, page({ ids: descending(3, 3), total: 3 }));

  test("it starts at the head, alone", () => {
    expect(start).toMatchObject({ kind: "walk", ordered: true, pass: 1, headReads: 0, headJoined: false });
    expect(nextWalk(start, facts(), [], 4)).toEqual({ kind: "read", reads: [cover(1)] });
    expect(nextWalk(start, facts(), [cover(1)], 4)).toEqual({ kind: "wait" });
    expect(nextWalk(start, facts(), [], 0)).toEqual({ kind: "wait" });
  });

  test("a complete one waits for what is still in flight, then says what it has read", () => {
    expect(nextWalk(whole, facts({ seen: 3 }), [cover(2)], 4)).toEqual({ kind: "wait" });
    const done = { kind: "done", whole: true } as const;
    expect(nextWalk(whole, facts({ seen: 3 }), [], 4)).toEqual({ ...done, addsUp: true, because: "all 3 rows read" });
    expect(nextWalk(whole, facts({ seen: 2, rejected: 1 }), [], 4)).toMatchObject({ addsUp: true });
    expect(nextWalk(whole, facts({ seen: 2 }), [], 4)).toEqual({
      ...done,
      addsUp: false,
      because: "2 rows read, the service counts 3",
    });
    expect(nextWalk(whole, facts({ seen: 4 }), [], 4)).toMatchObject({ addsUp: false });
  });

  test("without a count, a list adds up that ends within a page, or that two readings return alike", () => {
    const short = page({ ids: descending(3, 3), perPage: 30 });
    const first = acceptWalk(startWalk({ size: 30, overlap: false, proof: "identity" }), short);
    expect(nextWalk(first, facts({ seen: 3 }), [], 4)).toEqual({ kind: "read", reads: [cover(2, 2)] });
    // The page after it holds its last row and no other.
    const asked = acceptWalk(first, page({ page: 2, ids: ["1"], perPage: 2 }));
    expect(nextWalk(asked, facts({ seen: 3 }), [], 4)).toMatchObject({ addsUp: false, whole: true });
    expect(nextWalk({ ...asked, proof: "descending" }, facts({ seen: 3 }), [], 4)).toMatchObject({ addsUp: true });
    expect(nextWalk({ ...asked, pass: 2 }, facts({ seen: 3 }), [], 4)).toMatchObject({ addsUp: true });
    expect(nextWalk({ ...asked, pass: 2 }, facts({ seen: 4 }), [], 4)).toMatchObject({ addsUp: false });
    expect(wantsComparison(asked, facts({ seen: 3, rows: 3 }))).toBe(false);
    expect(wantsComparison(asked, facts({ seen: 3, rows: 4 }))).toBe(true);
    expect(wantsComparison({ ...asked, pass: 2 }, facts({ seen: 3, rows: 4 }))).toBe(false);
    expect(secondPass(asked)).toMatchObject({ pass: 2, coverage: { size: 3, granted: 3, end: 0 } });
    const small = acceptWalk(startWalk({ size: 30, overlap: false, proof: "identity" }), { ...short, granted: 4 });
    expect(nextWalk(small, facts({ seen: 3 }), [], 4)).toMatchObject({ addsUp: true });
    const full: WalkState = { ...small, coverage: { ...small.coverage, end: 30 } };
    expect(nextWalk(full, facts({ seen: 30 }), [], 4)).toEqual({
      kind: "done",
      addsUp: false,
      whole: true,
      because: "30 rows read, the service counts nothing",
    });
  });

  test("rows that may change places must have stood still; ordered ones need not", () => {
    const moved: WalkState = { ...whole, coverage: { ...whole.coverage, moved: true } };
    expect(nextWalk(moved, facts({ seen: 3 }), [], 4)).toMatchObject({ addsUp: true });
    expect(nextWalk({ ...moved, ordered: false }, facts({ seen: 3 }), [], 4)).toMatchObject({ addsUp: false });
    expect(nextWalk({ ...whole, ordered: false }, facts({ seen: 3 }), [], 4)).toMatchObject({ addsUp: true });
    const unproven: WalkState = { ...whole, coverage: { ...whole.coverage, proven: false } };
    expect(nextWalk(unproven, facts({ seen: 3 }), [], 4)).toMatchObject({ addsUp: false });
  });

  test("a page out of order ends the reliance on ids, and on places", () => {
    expect(whole).toMatchObject({ proof: "descending", ordered: true });
    const text = acceptWalk(
      startWalk({ size: 5, overlap: false, proof: "identity" }),
      page({ ids: ["c", "b", "a"], total: 3 }),
    );
    expect(text).toMatchObject({ proof: "identity", ordered: true });
    const mixed = acceptWalk(start, page({ ids: ["1", "3", "2"], total: 3 }));
    expect(mixed).toMatchObject({ proof: "identity", ordered: false });
    expect(acceptWalk(mixed, page({ page: 2, ids: ["1"], total: 6 }))).toMatchObject({ ordered: false });
    expect(acceptWalk(start, page({ ids: [], total: 0 }))).toMatchObject({ proof: "descending", ordered: true });
  });

  test("a list of growing ids that moved and came up short is looked at from the head again, twice at most", () => {
    const short: WalkState = { ...whole, coverage: { ...whole.coverage, moved: true, total: 4 } };
    const head = (number: number) => ({ kind: "read", reads: [{ page: number, perPage: 5, role: "head" }] });
    expect(nextWalk(short, facts({ seen: 3 }), [], 4)).toEqual(head(1));
    // Decided and not sent, it is decided again.
    expect(nextWalk(short, facts({ seen: 3 }), [], 4)).toEqual(head(1));
    const once = acceptWalk(short, page({ perPage: 5, role: "head", ids: ["9", "8", "7", "6", "5"], total: 4 }));
    expect(once).toMatchObject({ headReads: 1, headJoined: false });
    expect(acceptWalk(short, page({ page: 2, ids: ["1"], total: 6 })).headReads).toBe(0);
    expect(nextWalk(once, facts({ seen: 3 }), [], 4)).toEqual(head(2));
    expect(nextWalk({ ...once, headReads: 2 }, facts({ seen: 3 }), [], 4)).toMatchObject({ kind: "done" });
    expect(nextWalk({ ...short, headJoined: true }, facts({ seen: 3 }), [], 4)).toMatchObject({ kind: "done" });
    expect(nextWalk({ ...short, proof: "identity" }, facts({ seen: 3 }), [], 4)).toMatchObject({ kind: "done" });
    expect(nextWalk(short, facts({ seen: 3, rejected: 1 }), [], 4)).toMatchObject({ kind: "done" });
    const still: WalkState = { ...short, coverage: { ...short.coverage, moved: false } };
    expect(nextWalk(still, facts({ seen: 3 }), [], 4)).toMatchObject({ kind: "done" });
  });

  test("a look at the head joins where it meets a known id, and takes over count and head", () => {
    const joined = acceptWalk(whole, page({ role: "head", ids: ["5", "4", "3"], total: 5 }));
    expect(joined).toMatchObject({ headJoined: true, coverage: { total: 5, head: ["5", "4", "3"], end: 3 } });
    const apart = acceptWalk(whole, page({ role: "head", ids: descending(30, 10), total: null }));
    expect(apart).toMatchObject({ headJoined: false, coverage: { total: 3, head: descending(30, 8) } });
    expect(acceptWalk(joined, page({ role: "head", ids: ["9"], total: 5 })).headJoined).toBe(true);
  });

  test("a second pass is for a complete list that stood still or was not proven, and came up short; one only", () => {
    const short: WalkState = { ...whole, coverage: { ...whole.coverage, total: 4 } };
    expect(wantsSecondPass(short, facts({ seen: 3 }))).toBe(true);
    expect(wantsSecondPass(short, facts({ seen: 3, rejected: 1 }))).toBe(false);
    expect(wantsSecondPass(short, facts({ seen: 5 }))).toBe(false);
    expect(wantsSecondPass({ ...short, pass: 2 }, facts({ seen: 3 }))).toBe(false);
    expect(wantsSecondPass({ ...short, coverage: { ...short.coverage, complete: false } }, facts({ seen: 3 }))).toBe(
      false,
    );
    expect(wantsSecondPass({ ...short, coverage: { ...short.coverage, total: null } }, facts({ seen: 3 }))).toBe(false);
    const moved = { ...short.coverage, moved: true };
    expect(wantsSecondPass({ ...short, coverage: moved }, facts({ seen: 3 }))).toBe(false);
    expect(wantsSecondPass({ ...short, coverage: { ...moved, proven: false } }, facts({ seen: 3 }))).toBe(true);
    expect(secondPass(short)).toMatchObject({
      pass: 2,
      proof: "descending",
      coverage: { size: 5, overlap: true, end: 0 },
    });
  });
});

describe("watermark", () => {
  const start = startWatermark({ size: 5, since: 100 });
  const values = (...known: (number | null)[]) => known;
  const read = (ids: readonly string[], known: readonly (number | null)[], total: number | null) =>
    acceptWatermark(start, page({ ids, values: known, total }));

  test("it starts at the head and waits for each page", () => {
    expect(start).toMatchObject({
      kind: "watermark",
      pages: 0,
      since: 100,
      newest: null,
      sorted: true,
      reachedKnown: false,
    });
    expect(start.coverage).toMatchObject({ overlap: true, size: 5 });
    expect(nextWatermark(start, facts(), [], "updatedAt")).toEqual({ kind: "read", reads: [cover(1)] });
    expect(nextWatermark(start, facts(), [cover(1)], "updatedAt")).toEqual({ kind: "wait" });
  });

  test("newest is the first value, oldest the last; a value before the moment, or none at all, ends the changes", () => {
    expect(read(["a", "b"], values(300, 200), 9)).toMatchObject({
      pages: 1,
      newest: 300,
      oldest: 200,
      reachedKnown: false,
    });
    expect(read(["a", "b"], values(300, 100), 9).reachedKnown).toBe(false);
    expect(read(["a", "b"], values(300, 99), 9).reachedKnown).toBe(true);
    expect(read(["a", "b"], values(300, null), 9)).toMatchObject({ reachedKnown: true, oldest: 300 });
    expect(read([], values(), 0)).toMatchObject({ newest: null, oldest: null, reachedKnown: false });
    const later = acceptWatermark(read(["a"], values(300), 9), page({ page: 2, ids: ["b"], values: [50], total: 9 }));
    expect(later).toMatchObject({ newest: 300, oldest: 50, reachedKnown: true, pages: 2 });
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
    expect(unsorted.newest).toBe(2);
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
      because: "the whole list was read",
    });
    expect(nextWatermark(one, facts({ seen: 1, rejected: 1, rows: 2 }), [], "x")).toMatchObject({ addsUp: true });
    const unsorted = read(["a", "b"], values(200, 300), 2);
    expect(nextWatermark(unsorted, facts({ seen: 2, rows: 2 }), [], "x")).toMatchObject({ addsUp: true, whole: true });
    expect(nextWatermark(unsorted, facts({ seen: 1, rows: 2 }), [], "x")).toMatchObject({ kind: "unordered" });
    const quietly = { kind: "done", addsUp: false, whole: false, because: "changes read, counts agree" };
    expect(nextWatermark(one, facts({ seen: 1, rows: 2 }), [], "x")).toEqual(quietly);
    expect(nextWatermark({ ...one, pages: 2 }, facts({ seen: 2, rows: 2 }), [], "x")).toEqual(quietly);
    const uncounted = { ...one, coverage: { ...one.coverage, total: null } };
    expect(nextWatermark(uncounted, facts({ seen: 2, rows: 2 }), [], "x")).toEqual(quietly);
  });

  test("before its first page, a page of another reading that brought nothing new ends nothing", () => {
    const start = startWatermark({ size: 5, since: 0 });
    const head = { kind: "read", reads: [{ page: 1, perPage: 5, role: "cover" }] };
    expect(nextWatermark(start, facts({ rows: 20, last: NOTHING_NEW }), [], "x")).toEqual(head);
    const again = readHeadAgain(read(["a", "b", "c", "d", "e"], values(500, 400, 300, 200, 150), 20), 0);
    expect(nextWatermark(again, facts({ rows: 20, last: NOTHING_NEW }), [], "x")).toEqual(head);
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

  test("where every change is wanted, no page without news ends it; it needs a count, and begins anew when it is resumed", () => {
    const every = startWatermark({ size: 5, since: 100, thorough: true });
    const accept = (ids: readonly string[], known: readonly number[], total: number | null) =>
      acceptWatermark(every, page({ ids, values: known, total }));
    const first = accept(["a", "b", "c", "d", "e"], [500, 400, 300, 200, 150], 20);
    const quiet = facts({ rows: 20, last: NOTHING_NEW });
    expect(nextWatermark(first, quiet, [], "x")).toMatchObject({ kind: "read" });
    const known = { ...first, reachedKnown: true };
    expect(nextWatermark(known, quiet, [], "x")).toMatchObject({ kind: "done", addsUp: false });
    const differs = { kind: "walk", because: "the service counts 20 rows, the mirror 19" };
    expect(nextWatermark({ ...known, resumed: true }, facts({ rows: 19 }), [], "x")).toEqual(differs);
    const uncounted = { ...known, coverage: { ...known.coverage, total: null } };
    expect(nextWatermark(uncounted, quiet, [], "x")).toMatchObject({ kind: "walk" });
    const one = accept(["a", "b"], [300, 200], 2);
    expect(nextWatermark(one, facts({ seen: 2, rows: 3 }), [], "x")).toMatchObject({ kind: "walk" });
    expect(resumeProgress(serialiseProgress(first))).toEqual(every);
  });
});

describe("filter", () => {
  const start = startFilter({ size: 5, since: 100 });

  test("it reads the filtered list from the head, one page at a time", () => {
    expect(start).toMatchObject({ kind: "filter", since: 100, newest: null, coverage: { size: 5, overlap: true } });
    expect(nextFilter(start, facts(), [])).toEqual({ kind: "read", reads: [cover(1)] });
    expect(nextFilter(start, facts(), [cover(1)])).toEqual({ kind: "wait" });
    const first = acceptFilter(start, page({ ids: ["a", "b", "c", "d", "e"], values: [3, 9, 4, 1, 2], total: 9 }));
    expect(first.newest).toBe(9);
    expect(nextFilter(first, facts(), [])).toMatchObject({ kind: "read", reads: [{ role: "cover" }] });
    expect(acceptFilter(first, page({ page: 2, ids: ["f"], values: [null], total: 9 })).newest).toBe(9);
    expect(acceptFilter(start, page({ ids: ["f"], values: [null], total: 1 })).newest).toBeNull();
  });

  test("done when the counts agree, a walk when they do not or the list moved", () => {
    const whole = acceptFilter(start, page({ ids: ["a", "b"], values: [2, 1], total: 2 }));
    expect(nextFilter(whole, facts({ matching: 2 }), [cover(2)])).toEqual({ kind: "wait" });
    const done = { kind: "done", addsUp: false, whole: false, because: "changes read, counts agree" };
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
    const head = acceptFilter(counting, page({ ids: ["a", "b", "c", "d", "e"], values: [200, 1, 1, 1, 1], total: 9 }));
    expect(nextFilter(head, facts({ rows: 8 }), [])).toEqual({ kind: "read", reads: [cover(1)] });
    const read = acceptFilter(head, page({ ids: ["f"], values: [300], total: 1 }));
    expect(read).toMatchObject({ newest: 300, total: 9, coverage: { total: 1, complete: true } });
    expect(nextFilter(read, facts({ rows: 9, matching: 1 }), [])).toMatchObject({ kind: "done" });
    expect(nextFilter(read, facts({ rows: 8, acceptedGap: 1, matching: 1 }), [])).toMatchObject({ kind: "done" });
    const differs = { kind: "walk", because: "the service counts 9 rows, the mirror 10" };
    expect(nextFilter(read, facts({ rows: 10, matching: 1 }), [])).toEqual(differs);
    expect(resumeProgress(serialiseProgress(head))).toMatchObject({ counting: false, total: 9 });
  });
});

describe("known", () => {
  const start = startKnown({ size: 5 });
  const first = acceptKnown(start, page({ ids: ["a", "b", "c", "d", "e"], total: 9 }));

  test("a page of nothing new with counts that agree suffices; anything else is read to the end", () => {
    expect(start).toMatchObject({ kind: "known", walk: { proof: "identity", coverage: { overlap: true, size: 5 } } });
    expect(nextKnown(start, facts(), [])).toEqual({ kind: "read", reads: [cover(1)] });
    expect(nextKnown(start, facts({ rows: 0, last: NOTHING_NEW }), [])).toMatchObject({ kind: "read" });
    expect(nextKnown(first, facts({ rows: 9, last: NOTHING_NEW }), [cover(2)])).toEqual({ kind: "wait" });
    expect(nextKnown(first, facts({ rows: 9, last: NOTHING_NEW }), [])).toEqual({
      kind: "done",
      addsUp: false,
      whole: false,
      because: "a page held nothing new, counts agree",
    });
    expect(nextKnown(first, facts({ rows: 8, acceptedGap: 1, last: NOTHING_NEW }), [])).toMatchObject({ kind: "done" });
    for (const other of [
      facts({ rows: 9 }),
      facts({ rows: 8, last: NOTHING_NEW }),
      facts({ rows: 10, last: NOTHING_NEW }),
      facts({ rows: 9, last: { ...NOTHING_NEW, inserted: 1 } }),
      facts({ rows: 9, last: { ...NOTHING_NEW, updated: 1 } }),
    ]) {
      expect(nextKnown(first, other, [])).toMatchObject({ kind: "read" });
    }
    const { walk } = first;
    const uncounted = { ...first, walk: { ...walk, coverage: { ...walk.coverage, total: null } } };
    expect(nextKnown(uncounted, facts({ rows: 0, last: NOTHING_NEW }), [])).toMatchObject({ kind: "read" });
    const bridging = { ...first, walk: { ...walk, coverage: { ...walk.coverage, bridgeAt: 3 } } };
    expect(nextKnown(bridging, facts({ rows: 9, last: NOTHING_NEW }), [])).toMatchObject({
      kind: "read",
      reads: [{ role: "bridge" }],
    });
  });

  test("a whole list adds up, so that it may delete", () => {
    const whole = acceptKnown(start, page({ ids: ["a"], total: 1 }));
    expect(nextKnown(whole, facts({ rows: 2, seen: 1, last: NOTHING_NEW }), [])).toMatchObject({
      kind: "done",
      addsUp: true,
      whole: true,
    });
    expect(nextKnown(whole, facts({ rows: 1, seen: 1, last: NOTHING_NEW }), [])).toMatchObject({ addsUp: true });
  });
});

describe("log", () => {
  const start = startLog({ size: 5, first: false });
  const full = page({ ids: descending(30, 5), total: 30 });
  const oldestFirst = page({ ids: ["1", "2", "3", "4", "5"], total: 12 });

  test("it begins with the first page, whichever end is newest", () => {
    expect(start).toEqual({
      kind: "log",
      size: 5,
      first: false,
      total: null,
      newestOn: null,
      page: 1,
      ended: false,
      latest: [],
      repeated: 0,
      since: null,
      granted: 0,
    });
    expect(nextLog(start, facts(), [])).toEqual({ kind: "read", reads: [cover(1)] });
    expect(nextLog(start, facts(), [cover(1)])).toEqual({ kind: "wait" });
    expect(nextLog(start, facts({ last: NOTHING_NEW }), [])).toMatchObject({ kind: "read" });
  });

  test("newest first goes on with page 2, oldest first with the last page and back", () => {
    const forward = acceptLog(start, full);
    expect(forward).toMatchObject({ newestOn: "first", page: 2, ended: false, size: 5, total: 30 });
    const back = acceptLog(start, oldestFirst);
    expect(back).toMatchObject({ newestOn: "last", page: 3, ended: false });
    expect(acceptLog(back, page({ page: 3, ids: ["11", "12"], total: 12 }))).toMatchObject({ page: 2, ended: false });
    expect(acceptLog({ ...back, page: 2 }, page({ page: 2, ids: ["6"], total: 12 }))).toMatchObject({
      page: 1,
      ended: true,
    });
    expect(acceptLog(start, page({ ids: ["7"], total: 1 }))).toMatchObject({ newestOn: "first", ended: true });
    expect(acceptLog(start, page({ ids: ["1", "2"], total: null, granted: 3 }))).toMatchObject({
      newestOn: "last",
      page: 2,
      ended: true,
    });
    expect(acceptLog(start, { ...oldestFirst, total: null })).toMatchObject({
      newestOn: "last",
      page: 2,
      ended: false,
    });
  });

  test("without a count it is read forward to its end, wherever its new entries are", () => {
    const first = acceptLog(start, { ...oldestFirst, total: null });
    const second = acceptLog(first, page({ page: 2, ids: ["6", "7", "8", "9", "10"] }));
    expect(second).toMatchObject({ page: 3, ended: false });
    // Known entries say nothing about newer ones further back.
    expect(nextLog(second, facts({ last: { inserted: 0, updated: 0, unchanged: 5 } }), [])).toMatchObject({
      kind: "read",
      reads: [cover(3)],
    });
    expect(acceptLog(second, page({ page: 3, ids: ["11"] }))).toMatchObject({ ended: true });
    const clamped = acceptLog({ ...start, size: 100 }, page({ ids: ["1", "2", "3"], perPage: 100 }));
    expect(clamped).toMatchObject({ ended: false, size: 3, page: 2 });
    const single = acceptLog({ ...start, size: 100 }, page({ ids: ["9"], perPage: 100 }));
    expect(nextLog(single, facts(), [])).toMatchObject({ kind: "done", whole: false });
  });

  test("it ends with an empty page or the last one by the count", () => {
    const forward = acceptLog(start, full);
    const next = (number: number, ids: readonly string[], total: number | null = 30) =>
      acceptLog({ ...forward, page: number }, page({ page: number, ids, total }));
    expect(next(2, descending(25, 5))).toMatchObject({ page: 3, ended: false });
    expect(next(5, descending(10, 5)).ended).toBe(false);
    expect(next(6, descending(5, 5)).ended).toBe(true);
    expect(next(3, []).ended).toBe(true);
    const uncounted = { ...forward, total: null };
    expect(acceptLog(uncounted, page({ page: 6, ids: descending(5, 5), total: null })).ended).toBe(false);
  });

  test("a first page that is clamped silently shows the real size; a later short one does not", () => {
    expect(acceptLog({ ...start, size: 50 }, { ...full, perPage: 50 })).toMatchObject({ size: 5 });
    expect(acceptLog({ ...start, size: 50 }, { ...full, perPage: 50, total: 5 })).toMatchObject({
      size: 50,
      ended: true,
    });
    expect(acceptLog({ ...start, size: 50 }, { ...full, perPage: 50, ids: [], rows: 0 })).toMatchObject({ size: 50 });
    const forward = acceptLog(start, full);
    expect(acceptLog(forward, page({ page: 2, ids: ["25", "24"], total: 30 })).size).toBe(5);
  });

  test("known entries end it, but not those that its own requests pushed onto the next page", () => {
    const forward = acceptLog(start, full);
    const done = { kind: "done", addsUp: false, because: "read to the first known entry" };
    expect(nextLog(forward, facts({ last: { inserted: 4, updated: 0, unchanged: 1 } }), [])).toEqual({
      ...done,
      whole: false,
    });
    expect(nextLog(forward, facts({ last: { inserted: 4, updated: 1, unchanged: 0 } }), [])).toEqual({
      ...done,
      whole: false,
    });
    expect(nextLog(forward, facts({ last: { inserted: 5, updated: 0, unchanged: 0 } }), [])).toEqual({
      kind: "read",
      reads: [cover(2)],
    });
    const shifted = acceptLog(forward, page({ page: 2, ids: ["26", "25", "24", "23", "22"], total: 31 }));
    expect(shifted.repeated).toBe(1);
    expect(nextLog(shifted, facts({ last: { inserted: 4, updated: 0, unchanged: 1 } }), [])).toMatchObject({
      kind: "read",
    });
    expect(nextLog(shifted, facts({ last: { inserted: 3, updated: 0, unchanged: 2 } }), [])).toMatchObject({
      kind: "done",
    });
    expect(nextLog({ ...forward, first: true }, facts({ last: NOTHING_NEW }), [])).toMatchObject({ kind: "read" });
    expect(nextLog({ ...forward, ended: true }, facts(), [])).toEqual({ ...done, whole: true });
  });

  test("read from its end, known entries on the first page say nothing about the last one", () => {
    const back = acceptLog(start, oldestFirst);
    expect(nextLog(back, facts({ last: NOTHING_NEW }), [])).toEqual({ kind: "read", reads: [cover(3)] });
    const second = acceptLog(back, page({ page: 3, ids: ["11", "12"], total: 12 }));
    expect(nextLog(second, facts({ last: { inserted: 1, updated: 0, unchanged: 1 } }), [])).toMatchObject({
      kind: "done",
    });
    expect(nextLog(second, facts({ last: { inserted: 2, updated: 0, unchanged: 0 } }), [])).toEqual({
      kind: "read",
      reads: [cover(2)],
    });
  });
});
