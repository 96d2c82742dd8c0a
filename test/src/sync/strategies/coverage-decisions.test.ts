// How pages are joined, to the last field: what is proof, what is not, where a walk steps back to, what it asks for next.
import { describe, expect, test } from "vitest";
import type { PageRead, ReadRequest } from "../../../../src/sync/strategies/contract.ts";
import { addRead, type Coverage, emptyCoverage, resumedCoverage } from "../../../../src/sync/strategies/coverage.ts";
import { acceptFilter, startFilter } from "../../../../src/sync/strategies/filter.ts";
import { isDescending } from "../../../../src/sync/strategies/id-order.ts";
import { acceptKnown, startKnown } from "../../../../src/sync/strategies/known.ts";
import { asksBeyond, provesEnd } from "../../../../src/sync/strategies/list-end.ts";
import { acceptLog, startLog } from "../../../../src/sync/strategies/log.ts";
import { nextReads } from "../../../../src/sync/strategies/next-reads.ts";
import {
  acceptRead,
  coverageOf,
  nextStep,
  type Progress,
  resumeProgress,
  serialiseProgress,
  withPageSize,
} from "../../../../src/sync/strategies/progress.ts";
import { acceptWalk, startWalk } from "../../../../src/sync/strategies/walk.ts";
import { acceptWatermark, startWatermark } from "../../../../src/sync/strategies/watermark.ts";

const ids = (from: number, rows: number) => Array.from({ length: rows }, (_, row) => String(from - row));
const page = (more: Partial<PageRead> & { readonly ids: readonly string[] }): PageRead => ({
  page: 1,
  perPage: 10,
  role: "cover",
  rows: more.ids.length,
  values: [],
  total: 40,
  ...more,
});
const numbered = (number: number, from: number, more: Partial<PageRead> = {}) =>
  page({ page: number, ids: ids(from, 10), ...more });
/** The first 20 of 40 rows, ids 1000 to 981. */
const twenty = (overlap = false): Coverage => {
  const first = addRead(emptyCoverage(10, overlap), numbered(1, 1000), "descending");
  return { ...addRead({ ...first, overlap: false }, numbered(2, 990), "descending"), overlap };
};

describe("ids", () => {
  test.each([
    [["3", "2", "1"], true],
    [["3", "3"], false],
    [["1", "2"], false],
    [["-1", "-2"], true],
    [["9007199254740993", "9007199254740992"], true],
    [["b", "a"], false],
    [["2", "a"], false],
    [["a"], false],
    [["1.5"], false],
    [["10x"], false],
    [["x10"], false],
    [["2", "1x"], false],
    [["7"], true],
    [[], true],
  ])("%j descend: %s", (list, descends) => {
    expect(isDescending(list)).toBe(descends);
  });

  test("without a count, an empty page ends a list, and one shorter than a page that the service returned", () => {
    const short = (rows: number, more: Partial<PageRead> = {}) =>
      page({ ids: ids(50, rows), perPage: 100, total: null, ...more });
    expect(provesEnd(short(12), 0)).toBe(false);
    expect(provesEnd(short(12), 12)).toBe(false);
    expect(provesEnd(short(12), 13)).toBe(true);
    expect(provesEnd(short(12, { more: true }), 13)).toBe(false);
    expect(provesEnd(short(10, { perPage: 10 }), 100)).toBe(false);
    expect(provesEnd(short(9, { perPage: 10 }), 100)).toBe(true);
    expect(provesEnd(short(0), 0)).toBe(true);
    expect(provesEnd(short(12, { total: 12 }), 0)).toBe(true);
    expect(provesEnd(short(12, { total: 13 }), 100)).toBe(false);
    expect(provesEnd(short(3, { page: 2, perPage: 10, total: 13 }), 0)).toBe(true);
  });

  test("an empty page after one or two rows proves the end if the rows are the same afterwards", () => {
    const uncounted = (more: Partial<PageRead> & { readonly ids: readonly string[] }) =>
      page({ perPage: 2, total: null, ...more });
    const first = addRead(emptyCoverage(50, true), uncounted({ perPage: 50, ids: ["b", "a"] }), "identity");
    const asked = addRead(first, uncounted({ page: 2, ids: [] }), "identity");
    expect(asked).toMatchObject({ complete: false });
    expect(nextReads(asked, [], 3)).toEqual([{ page: 1, perPage: 2, role: "bridge" }]);
    const again = (ids: readonly string[]) => addRead(asked, uncounted({ role: "bridge", ids }), "identity");
    expect(again(["b", "a"])).toMatchObject({ complete: true, proven: true, end: 2 });
    expect(again(["a", "c"])).toMatchObject({ complete: true, proven: false });
  });

  test("a refusal ends a list without a count, but does not prove its end", () => {
    const two = page({ ids: ["b", "a"], perPage: 2, total: null });
    const read = addRead(emptyCoverage(50, true), { ...two, perPage: 50 }, "identity");
    const afterwards = (refused: boolean) => {
      const beyond = page({ page: 2, ids: [], perPage: 2, total: null });
      const asked = addRead(read, refused ? { ...beyond, refused } : beyond, "identity");
      return addRead(asked, { ...two, role: "bridge" }, "identity");
    };
    expect(afterwards(false)).toMatchObject({ complete: true, proven: true });
    expect(afterwards(true)).toMatchObject({ complete: true, proven: false });
  });

  test("only a page after the last row of a list without a count is refused because it is empty", () => {
    const asked = { page: 3, perPage: 2, role: "cover" } as const;
    expect(asksBeyond({ end: 4, total: null }, asked)).toBe(true);
    expect(asksBeyond({ end: 5, total: null }, asked)).toBe(false);
    expect(asksBeyond({ end: 4, total: 4 }, asked)).toBe(false);
    expect(asksBeyond({ end: 0, total: null }, { ...asked, page: 1 })).toBe(false);
  });
});

describe("joining", () => {
  test("the first page is the beginning, whatever its ids", () => {
    expect(addRead(emptyCoverage(10, false), numbered(1, 1000), "descending")).toEqual({
      size: 10,
      granted: 10,
      overlap: false,
      end: 10,
      tail: ids(998, 8),
      head: ids(1000, 8),
      total: 40,
      joinedTotal: 40,
      moved: false,
      fresh: true,
      waiting: [],
      bridgeAt: null,
      bridges: 0,
      repairs: 0,
      emptyFrom: null,
      idle: 0,
      proven: true,
      endsEarly: false,
      complete: false,
    });
  });

  test("pages ahead wait for their predecessors, in any order, and are joined together", () => {
    const empty = emptyCoverage(10, false);
    const third = addRead(empty, numbered(3, 980), "descending");
    expect(third).toMatchObject({ end: 0, waiting: [{ page: 3 }] });
    const second = addRead(third, numbered(2, 990), "descending");
    expect(second.waiting.map((read) => read.page)).toEqual([2, 3]);
    expect(addRead(second, numbered(1, 1000), "descending")).toMatchObject({ end: 30, waiting: [], proven: true });
  });

  test("an unchanged list joins where pages touch; one that moved, overlaps, was resumed or does not count needs proof", () => {
    const next = numbered(3, 980);
    const opaque = { ...next, ids: next.ids.map((id) => `x${id}`) };
    expect(addRead(twenty(), opaque, "identity")).toMatchObject({ end: 30, proven: true, repairs: 0 });
    expect(addRead({ ...twenty(), joinedTotal: 41 }, opaque, "identity")).toMatchObject({ end: 20, repairs: 1 });
    expect(
      addRead({ ...twenty(), total: null, joinedTotal: null }, { ...opaque, total: null }, "identity"),
    ).toMatchObject({
      end: 20,
      repairs: 1,
    });
    for (const waits of [twenty(true), { ...twenty(), fresh: false }, { ...twenty(), moved: true }]) {
      expect(addRead(waits, opaque, "identity")).toMatchObject({ end: 20, waiting: [{ page: 3 }], bridgeAt: null });
    }
  });

  test("a shared row joins; so do descending ids that leave no room between", () => {
    const shared = page({ page: 3, perPage: 9, ids: ["y", "981", "z"] });
    expect(addRead({ ...twenty(), moved: true }, shared, "identity")).toMatchObject({ end: 21, repairs: 0 });
    const known = page({ page: 3, perPage: 9, ids: ids(982, 9) });
    expect(addRead({ ...twenty(), moved: true }, known, "descending")).toMatchObject({ end: 27, repairs: 0 });
    // Its first id does not stand before the last one known: nothing can lie between.
    const above = page({ page: 3, perPage: 9, ids: ids(1200, 9) });
    expect(addRead({ ...twenty(), moved: true }, above, "descending")).toMatchObject({
      end: 27,
      tail: ids(988, 8),
      repairs: 0,
    });
    const below = page({ page: 3, perPage: 9, ids: ids(970, 9) });
    expect(addRead({ ...twenty(), moved: true }, below, "descending")).toMatchObject({ end: 20, repairs: 1 });
    const none = page({ page: 3, perPage: 9, ids: [] });
    expect(addRead({ ...twenty(), moved: true }, none, "descending")).toMatchObject({ end: 20, repairs: 1 });
  });

  test("the last page completes the list; a shorter one shows the size that is granted", () => {
    const ends = addRead(twenty(), numbered(3, 980, { total: 30 }), "descending");
    expect(ends).toMatchObject({ total: 30, moved: true, overlap: true });
    const whole = addRead(addRead(twenty(), numbered(3, 980), "descending"), numbered(4, 970), "descending");
    expect(whole).toMatchObject({ end: 40, complete: true, waiting: [], bridgeAt: null, size: 10 });
    const clamped = addRead(emptyCoverage(50, false), page({ perPage: 50, ids: ids(1000, 7) }), "descending");
    expect(clamped).toMatchObject({ size: 7, end: 7, complete: false });
    const seven = page({ perPage: 50, ids: ids(1000, 7), total: null });
    const uncounted = addRead(emptyCoverage(50, false), seven, "descending");
    expect(uncounted).toMatchObject({ complete: false, total: null, size: 7, granted: 7 });
    const granted = addRead(emptyCoverage(50, false), { ...seven, granted: 8 }, "descending");
    expect(granted).toMatchObject({ complete: true, total: null, size: 50, granted: 8 });
    const empty = addRead(emptyCoverage(50, false), page({ perPage: 50, ids: [], total: 0 }), "descending");
    expect(empty).toMatchObject({ complete: true, proven: true, end: 0 });
    // Nothing although the service counts rows: nothing is proven, and nothing more can be read.
    const stuck = addRead(emptyCoverage(50, false), page({ perPage: 50, ids: [], total: 9 }), "descending");
    expect(stuck).toMatchObject({ complete: true, proven: false });
  });

  test("a change of the count is movement, and from then on pages overlap; no count is none", () => {
    expect(addRead(twenty(), numbered(3, 980, { total: 41 }), "descending")).toMatchObject({
      moved: true,
      overlap: true,
      total: 41,
    });
    expect(addRead(twenty(), numbered(3, 980, { total: null }), "descending")).toMatchObject({
      moved: false,
      overlap: false,
      total: 40,
    });
    expect(addRead({ ...twenty(), total: null }, numbered(3, 980), "descending")).toMatchObject({
      moved: false,
      total: 40,
    });
    expect(addRead({ ...twenty(), moved: true }, numbered(3, 980), "descending").moved).toBe(true);
  });

  test("a page that lies within what is covered shows how far it reaches now, and changes no tail", () => {
    const pushed = page({ page: 3, perPage: 9, ids: ids(985, 5), rows: 5 });
    expect(addRead({ ...twenty(), moved: true }, pushed, "descending")).toMatchObject({ end: 23, tail: ids(988, 8) });
    const inside = page({ page: 2, perPage: 9, ids: ids(990, 3), rows: 3 });
    expect(addRead({ ...twenty(), moved: true }, inside, "descending")).toMatchObject({ end: 20, tail: ids(988, 8) });
  });
});

describe("bridges", () => {
  const apart = (total: number | null) => page({ page: 3, perPage: 9, ids: ids(900, 9), total });
  const moving = { ...twenty(), moved: true, overlap: false };

  test("the first steps back by a row and the fall of the count, later ones further each time", () => {
    expect(addRead(moving, apart(40), "descending")).toMatchObject({ bridgeAt: 19, bridges: 1, repairs: 1, end: 20 });
    expect(addRead(moving, apart(37), "descending").bridgeAt).toBe(16);
    expect(addRead(moving, apart(45), "descending").bridgeAt).toBe(19);
    expect(addRead(moving, apart(null), "descending").bridgeAt).toBe(19);
    expect(addRead({ ...moving, joinedTotal: null }, apart(40), "descending").bridgeAt).toBe(19);
    const missed = (bridges: number) =>
      addRead({ ...moving, bridges, bridgeAt: 19 }, { ...apart(40), role: "bridge" }, "descending").bridgeAt;
    expect([1, 2, 3, 4, 5].map(missed)).toEqual([17, 16, 14, 9, 0]);
    expect(addRead({ ...moving, end: 20 }, apart(5), "descending").bridgeAt).toBe(0);
  });

  test("the page that broke the link stays until the bridge reaches it; a bridge that missed has served", () => {
    const broken = addRead(moving, apart(40), "descending");
    expect(broken.waiting).toHaveLength(1);
    const missed = addRead(broken, { ...page({ page: 2, ids: ids(950, 5) }), role: "bridge" }, "descending");
    expect(missed).toMatchObject({ bridges: 2, repairs: 2, waiting: [{ role: "cover" }] });
    const landed = addRead(
      broken,
      { ...page({ page: 2, perPage: 15, ids: ids(985, 15) }), role: "bridge" },
      "descending",
    );
    expect(landed).toMatchObject({ end: 30, bridgeAt: null, bridges: 0, repairs: 1, tail: ids(978, 8) });
  });

  test("a bridge from the head starts the walk over; a covering page from the head does not", () => {
    const broken = addRead(moving, apart(40), "descending");
    const fromHead = { ...page({ page: 1, perPage: 10, ids: ids(2000, 10) }), role: "bridge" } as const;
    expect(addRead(broken, fromHead, "descending")).toMatchObject({ end: 10, tail: ids(1998, 8), bridgeAt: null });
    expect(addRead(moving, page({ ids: ids(2000, 10) }), "descending")).toMatchObject({ end: 20, repairs: 1 });
  });

  test("after six bridges in a row, or two hundred in all, the walk goes on unproven", () => {
    const on = { end: 27, proven: false, waiting: [], bridgeAt: null, bridges: 0 };
    expect(addRead({ ...moving, bridges: 6 }, apart(40), "descending")).toMatchObject(on);
    expect(addRead({ ...moving, repairs: 200 }, apart(40), "descending")).toMatchObject(on);
    expect(addRead({ ...moving, bridges: 5, repairs: 199 }, apart(40), "descending")).toMatchObject({
      end: 20,
      proven: true,
    });
  });

  test("what was read before a bridge joined, and does not fit any more, is let go", () => {
    const broken = addRead(moving, apart(40), "descending");
    const bridge = {
      ...page({ page: 2, perPage: 15, ids: [...ids(985, 5), ...ids(700, 10)] }),
      role: "bridge",
    } as const;
    expect(addRead(broken, bridge, "descending")).toMatchObject({ end: 30, waiting: [], repairs: 1 });
  });
});

describe("what is asked for next", () => {
  const cover = (number: number, perPage = 10): ReadRequest => ({ page: number, perPage, role: "cover" });

  test("the first page alone, then as many as there is room for, never one twice", () => {
    const empty = emptyCoverage(10, false);
    expect(nextReads(empty, [], 5)).toEqual([cover(1)]);
    expect(nextReads(empty, [cover(1)], 5)).toEqual([]);
    expect(nextReads({ ...empty, waiting: [numbered(2, 990)] }, [], 5)).toEqual([]);
    expect(nextReads(twenty(), [], 5)).toEqual([cover(3), cover(4)]);
    expect(nextReads(twenty(), [], 1)).toEqual([cover(3)]);
    expect(nextReads(twenty(), [], 0)).toEqual([]);
    expect(nextReads(twenty(), [cover(3)], 5)).toEqual([cover(4)]);
    expect(nextReads({ ...twenty(), waiting: [numbered(3, 980)] }, [], 5)).toEqual([cover(4)]);
    expect(nextReads({ ...twenty(), complete: true }, [], 5)).toEqual([]);
    expect(nextReads(twenty(), [cover(3), cover(4)], 5)).toEqual([]);
  });

  test("overlapping pages share a row; without a count they go one by one; after a resume the first one overlaps", () => {
    expect(nextReads(twenty(true), [], 5)).toEqual([cover(3, 9), cover(4, 8), cover(4)]);
    expect(nextReads({ ...twenty(), total: null }, [], 5)).toEqual([cover(3, 9)]);
    expect(nextReads({ ...twenty(), total: null }, [cover(3, 9)], 5)).toEqual([]);
    expect(nextReads({ ...twenty(), fresh: false }, [], 5)[0]).toEqual(cover(3, 9));
    expect(nextReads({ ...twenty(), fresh: false }, [cover(3)], 5)[0]).toEqual(cover(3, 9));
    expect(nextReads({ ...twenty(true), size: 1 }, [], 1)).toEqual([cover(21, 1)]);
  });

  test("a bridge before anything else, and one at a time", () => {
    const broken = { ...twenty(), bridgeAt: 19 };
    expect(nextReads(broken, [], 5)).toEqual([{ page: 3, perPage: 9, role: "bridge" }]);
    expect(nextReads(broken, [cover(3)], 5)).toHaveLength(1);
    expect(nextReads(broken, [{ page: 3, perPage: 9, role: "bridge" }], 5)).toEqual([]);
  });

  test("a list that has become as short as what is covered is looked at once more at its end", () => {
    expect(nextReads({ ...twenty(), total: 20 }, [], 5)).toEqual([{ page: 3, perPage: 9, role: "bridge" }]);
    expect(nextReads({ ...twenty(), total: 12 }, [], 5)).toEqual([{ page: 2, perPage: 10, role: "bridge" }]);
    expect(nextReads({ ...twenty(), total: 0 }, [], 5)).toEqual([{ page: 1, perPage: 10, role: "bridge" }]);
    expect(nextReads({ ...twenty(), total: 20 }, [cover(3)], 5)).toEqual([]);
  });
});

describe("progress", () => {
  const all: readonly Progress[] = [
    startWalk({ size: 10, overlap: true, proof: "descending" }),
    startWatermark({ size: 10, since: 7 }),
    startFilter({ size: 10, since: 7 }),
    startKnown({ size: 10 }),
    startLog({ size: 10, first: true }),
  ];
  const facts = { rows: 0, matching: null, seen: 0, rejected: 0, last: null, acceptedGap: 0 };

  test.each(all.map((progress) => [progress.kind, progress] as const))(
    "%s is stored and taken up as it was",
    (_, progress) => {
      expect(resumeProgress(serialiseProgress(progress))).toEqual(progress);
      const read = page({ ids: ids(1000, 10), values: Array.from({ length: 10 }, (_, row) => 500 - row) });
      const later = acceptRead(progress, read);
      const resumed = resumeProgress(serialiseProgress(later));
      const coverage = coverageOf(later);
      expect(resumed === null ? null : coverageOf(resumed)).toEqual(
        coverage === null ? null : { ...coverage, fresh: false },
      );
      expect(later.kind).toBe(progress.kind);
      expect(nextStep(progress, facts, [], 1, "x").step).toEqual({
        kind: "read",
        reads: [{ page: 1, perPage: 10, role: "cover" }],
      });
    },
  );

  test.each(all.map((progress) => [progress.kind, progress] as const))(
    "%s reads with a smaller page once that is all that is granted",
    (_, progress) => {
      const size = (each: Progress) => (each.kind === "log" ? each.size : coverageOf(each)?.size);
      expect(size(withPageSize(progress, 4))).toBe(4);
      expect(size(withPageSize(progress, 40))).toBe(10);
    },
  );

  test("each page goes to the strategy it was read for", () => {
    const [walk, watermark, filter, known, log] = [
      startWalk({ size: 10, overlap: false, proof: "descending" }),
      startWatermark({ size: 10, since: 7 }),
      startFilter({ size: 10, since: 7 }),
      startKnown({ size: 10 }),
      startLog({ size: 10, first: true }),
    ];
    const read = page({ ids: ids(1000, 10), values: Array.from({ length: 10 }, (_, row) => 500 - row) });
    expect(acceptRead(walk, read)).toEqual(acceptWalk(walk, read));
    expect(acceptRead(watermark, read)).toEqual(acceptWatermark(watermark, read));
    expect(acceptRead(filter, read)).toEqual(acceptFilter(filter, read));
    expect(acceptRead(known, read)).toEqual(acceptKnown(known, read));
    expect(acceptRead(log, read)).toEqual(acceptLog(log, read));
  });

  test("a resume proves the boundary again, unless nothing was read yet", () => {
    expect(resumedCoverage(twenty()).fresh).toBe(false);
    expect(resumedCoverage(emptyCoverage(10, false)).fresh).toBe(true);
  });

  test.each(["", "{", "null", "[]", '{"kind":"walk"}', '{"kind":"else","coverage":{}}'])(
    "stored text %j starts anew",
    (text) => {
      expect(resumeProgress(text)).toBeNull();
    },
  );

  test("a walk of an unchanged list that comes up short is read a second time; looks at the head are counted", () => {
    const walk = acceptRead(
      startWalk({ size: 10, overlap: false, proof: "descending" }),
      page({ ids: ids(9, 3), total: 3 }),
    );
    const again = nextStep(walk, { ...facts, seen: 2 }, [], 4, "x");
    expect(again.progress).toMatchObject({ pass: 2 });
    expect(again.step).toMatchObject({ kind: "read" });
    expect(nextStep(walk, { ...facts, seen: 3 }, [], 4, "x")).toMatchObject({
      step: { addsUp: true },
      progress: { pass: 1 },
    });
    expect(nextStep(walk, { ...facts, seen: 4 }, [], 4, "x")).toMatchObject({ step: { kind: "done", addsUp: false } });
    if (walk.kind !== "walk") throw new TypeError("no walk");
    const short = { ...walk, coverage: { ...walk.coverage, moved: true, total: 4 } };
    const head = { kind: "read", reads: [{ page: 1, role: "head" }] };
    expect(nextStep(short, { ...facts, seen: 3 }, [], 4, "x").step).toMatchObject(head);
    expect(nextStep({ kind: "known", walk: short }, { ...facts, seen: 3 }, [], 4, "x").step).toMatchObject(head);
  });

  test("what a filter and a watermark say names the field and the counts", () => {
    const unsorted = acceptRead(startWatermark({ size: 10, since: 0 }), page({ ids: ["a", "b"], values: [1, 2] }));
    expect(nextStep(unsorted, facts, [], 1, "updatedAt").step).toMatchObject({
      because: "the service does not sort by updatedAt",
    });
  });
});
