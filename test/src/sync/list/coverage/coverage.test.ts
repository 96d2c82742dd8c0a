// Coverage: pages that come back in any order are joined by proof, and nothing is asked for twice.
import { expect, test } from "vitest";
import {
  addRead,
  type Coverage,
  emptyCoverage,
  isDescending,
  resumedCoverage,
} from "../../../../../src/sync/list/coverage/coverage.ts";
import { nextReads } from "../../../../../src/sync/list/coverage/next-reads.ts";
import { startOf } from "../../../../../src/sync/list/coverage/page-geometry.ts";
import type { PageRead, ReadRequest } from "../../../../../src/sync/list/coverage/read-types.ts";
import { descending } from "../ways/readings.ts";
import { numbered, page, twenty } from "./covered.ts";

// Which ids are falling numbers.

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

const LENGTH = 45;

/** The page of a list of growing ids, newest first, that stands still. */
const answer = (request: ReadRequest): PageRead => {
  const start = (request.page - 1) * request.perPage;
  const rows = Math.max(0, Math.min(request.perPage, LENGTH - start));
  const ids = Array.from({ length: rows }, (_, row) => String(1000 - start - row));
  return { ...request, ids, rows, values: [], total: LENGTH };
};

const firstPages = (pages: number): Coverage => {
  let coverage = emptyCoverage(5, false);
  for (let page = 1; page <= pages; page++) {
    coverage = addRead(coverage, answer({ page, perPage: 5, role: "cover" }), "descending");
  }
  return coverage;
};

test("after a resume the page that only touches the boundary waits for the one that overlaps it", () => {
  const resumed = resumedCoverage(firstPages(4));
  const reads = nextReads(resumed, [], 3);
  const [across, ...ahead] = reads;
  if (across === undefined) throw new TypeError("nothing is read across the boundary");
  expect((across.page - 1) * across.perPage).toBeLessThan(resumed.end);
  let coverage = ahead.reduce((before, read) => addRead(before, answer(read), "descending"), resumed);
  // The overlapping page is still on its way: nothing else may be asked for at the boundary.
  const more = nextReads(coverage, [across], 8);
  expect(more.filter((read) => (read.page - 1) * read.perPage < resumed.end)).toEqual([]);
  coverage = addRead(coverage, answer(across), "descending");
  expect(coverage.end).toBeGreaterThanOrEqual(Math.max(...reads.map(({ page, perPage }) => page * perPage)));
  expect(coverage.repairs).toBe(0);
});

test("a page that touches the boundary and was read before it does not keep the boundary from being read", () => {
  const resumed = { ...resumedCoverage(firstPages(4)), waiting: [answer({ page: 5, perPage: 5, role: "cover" })] };
  const [across] = nextReads(resumed, [], 1);
  expect(across).toBeDefined();
  expect(((across?.page ?? 9) - 1) * (across?.perPage ?? 5)).toBeLessThan(resumed.end);
});

test("rows added above while pages are on the wire cost a few pages, not the head of the list again and again", () => {
  const added = 39;
  const size = 20;
  // Ids without an order, so that only shared rows join pages.
  const old = Array.from({ length: 250 }, (_, row) => `c${row}`);
  const pageOf = (request: ReadRequest, above: number): PageRead => {
    const list = [...Array.from({ length: above }, (_, row) => `n${above - row}`), ...old];
    const start = (request.page - 1) * request.perPage;
    const ids = list.slice(start, start + request.perPage);
    return { ...request, ids, rows: ids.length, values: [], total: list.length };
  };
  let above = 2;
  let coverage = addRead(
    emptyCoverage(size, false),
    pageOf({ page: 1, perPage: size, role: "cover" }, above),
    "identity",
  );
  let requests = 1;
  while (!coverage.complete) {
    const reads = nextReads(coverage, [], 12);
    requests += reads.length;
    expect(requests).toBeLessThan(80);
    for (const read of reads) {
      above = Math.min(added, above + 1);
      coverage = addRead(coverage, pageOf(read, above), "identity");
    }
    // Other lists are read meanwhile.
    above = Math.min(added, above + 12);
  }
  expect(coverage).toMatchObject({ proven: true, end: old.length + added });
});

test("an empty or refused page behind an only page of one or two rows, in a list without a count, ends it without proof", () => {
  const two = page({ ids: ["b", "a"], perPage: 2, total: null });
  const read = addRead(emptyCoverage(50, true), { ...two, perPage: 50 }, "identity");
  const beyond = page({ page: 2, ids: [], perPage: 2, total: null });
  for (const refused of [undefined, true]) {
    expect(addRead(read, { ...beyond, refused }, "identity")).toMatchObject({ complete: true, proven: false, end: 2 });
  }
});

test("the first page is the beginning, whatever its ids", () => {
  expect(addRead(emptyCoverage(10, false), numbered(1, 1000), "descending")).toEqual({
    size: 10,
    fixed: false,
    granted: 10,
    overlap: false,
    end: 10,
    tail: descending(998, 8),
    head: descending(1000, 8),
    total: 40,
    joinedTotal: 40,
    fall: 0,
    moved: false,
    fresh: true,
    waiting: [],
    bridgeAt: null,
    bridges: 0,
    repairs: 0,
    emptyFrom: null,
    idle: 0,
    lap: { mark: descending(1000, 10), behind: 10, reads: 1, again: 0 },
    proven: true,
    openEnd: false,
    endsEarly: false,
    complete: false,
  });
});

test("a full page beyond its own count leaves the end open, and the page behind it is read; a short one ends the list", () => {
  const counted = { total: 25 };
  const beyond = [1000, 990, 980].reduce(
    (coverage, from, at) => addRead(coverage, numbered(at + 1, from, counted), "descending"),
    emptyCoverage(10, false),
  );
  expect(beyond).toMatchObject({ end: 30, openEnd: true, complete: false, proven: true });
  const reads = nextReads(beyond, [], 8);
  expect(reads).toHaveLength(1);
  const [next] = reads;
  expect(startOf(next ?? { page: 9, perPage: 9 })).toBeLessThan(30);
  const short = page({ ...next, ids: descending(971, 4), total: 25 });
  expect(addRead(beyond, short, "descending")).toMatchObject({ openEnd: false, complete: true, proven: true });
});

test("a list that shrank to a round number of covered rows is not ended by an empty page: its end is read again", () => {
  const thousand = {
    ...emptyCoverage(100, false),
    end: 1000,
    total: 1005,
    joinedTotal: 1005,
    tail: ["7"],
    head: ["9"],
  };
  const shrunk = { ...thousand, total: 1000, moved: true, overlap: true };
  expect(nextReads(shrunk, [], 4)).toEqual([expect.objectContaining({ role: "bridge" })]);
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
  const known = page({ page: 3, perPage: 9, ids: descending(982, 9) });
  expect(addRead({ ...twenty(), moved: true }, known, "descending")).toMatchObject({ end: 27, repairs: 0 });
  // Its first id does not stand before the last one known: nothing can lie between.
  const above = page({ page: 3, perPage: 9, ids: descending(1200, 9) });
  expect(addRead({ ...twenty(), moved: true }, above, "descending")).toMatchObject({
    end: 27,
    tail: descending(988, 8),
    repairs: 0,
  });
  const below = page({ page: 3, perPage: 9, ids: descending(970, 9) });
  expect(addRead({ ...twenty(), moved: true }, below, "descending")).toMatchObject({ end: 20, repairs: 1 });
  const none = page({ page: 3, perPage: 9, ids: [] });
  expect(addRead({ ...twenty(), moved: true }, none, "descending")).toMatchObject({ end: 20, repairs: 1 });
});

test("the last page completes the list; a shorter one shows the size that is granted", () => {
  const ends = addRead(twenty(), numbered(3, 980, { total: 30 }), "descending");
  expect(ends).toMatchObject({ total: 30, moved: true, overlap: false });
  const whole = addRead(addRead(twenty(), numbered(3, 980), "descending"), numbered(4, 970), "descending");
  expect(whole).toMatchObject({ end: 40, complete: true, waiting: [], bridgeAt: null, size: 10 });
  const clamped = addRead(emptyCoverage(50, false), page({ perPage: 50, ids: descending(1000, 7) }), "descending");
  expect(clamped).toMatchObject({ size: 7, end: 7, complete: false });
  const seven = page({ perPage: 50, ids: descending(1000, 7), total: null });
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

test("a change of the count is movement, and from then on pages overlap unless ids grow; no count is none", () => {
  for (const [proof, overlap] of [
    ["descending", false],
    ["identity", true],
  ] as const) {
    const more = addRead(twenty(), numbered(3, 980, { total: 41 }), proof);
    expect(more).toMatchObject({ moved: true, overlap, total: 41 });
  }
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

test("where ids grow, a later page of no lower count skips no row; of a lower one as many as the count fell, at most", () => {
  const moved = { ...twenty(), moved: true, total: 41, joinedTotal: 41 };
  const third = (total: number, more: Partial<PageRead> = {}) =>
    addRead(moved, numbered(3, 980, { total, follows: true, ...more }), "descending");
  expect(third(41)).toMatchObject({ end: 30, proven: true, bridgeAt: null, fall: 0 });
  expect(third(43)).toMatchObject({ end: 30, bridgeAt: null });
  // Two rows went: the page may begin two rows too late.
  expect(third(39)).toMatchObject({ end: 20, bridgeAt: 17, repairs: 1 });
  // Asked for before the page in front of it was received, so its count may be the older one.
  expect(third(41, { follows: undefined })).toMatchObject({ end: 20, bridgeAt: 19 });
  const identity = addRead(moved, numbered(3, 980, { total: 41, follows: true }), "identity");
  expect(identity).toMatchObject({ end: 20, overlap: true });
});

test("how far the count fell is remembered until it stays as it is", () => {
  const fell = addRead(
    { ...twenty(), moved: true, total: 45, joinedTotal: 45 },
    page({ page: 3, perPage: 9, ids: descending(982, 9), total: 40 }),
    "descending",
  );
  expect(fell.fall).toBe(5);
  const steady = addRead(
    fell,
    page({ page: 4, perPage: 9, ids: descending(973, 9), total: 40, follows: true }),
    "descending",
  );
  expect(steady.fall).toBe(2);
});

test("a page that lies within what is covered shows how far it reaches now, and changes no tail", () => {
  const pushed = page({ page: 3, perPage: 9, ids: descending(985, 5), rows: 5 });
  expect(addRead({ ...twenty(), moved: true }, pushed, "descending")).toMatchObject({
    end: 23,
    tail: descending(988, 8),
  });
  const inside = page({ page: 2, perPage: 9, ids: descending(990, 3), rows: 3 });
  expect(addRead({ ...twenty(), moved: true }, inside, "descending")).toMatchObject({
    end: 20,
    tail: descending(988, 8),
  });
});

const apart = (total: number | null) => page({ page: 3, perPage: 9, ids: descending(900, 9), total });
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
  const missed = addRead(broken, { ...page({ page: 2, ids: descending(950, 5) }), role: "bridge" }, "descending");
  expect(missed).toMatchObject({ bridges: 2, repairs: 2, waiting: [{ role: "cover" }] });
  const landed = addRead(
    broken,
    { ...page({ page: 2, perPage: 15, ids: descending(985, 15) }), role: "bridge" },
    "descending",
  );
  expect(landed).toMatchObject({ end: 30, bridgeAt: null, bridges: 0, repairs: 1, tail: descending(978, 8) });
});

test("a bridge from the head starts the walk over; a covering page from the head does not", () => {
  const broken = addRead(moving, apart(40), "descending");
  const fromHead = { ...page({ page: 1, perPage: 10, ids: descending(2000, 10) }), role: "bridge" } as const;
  expect(addRead(broken, fromHead, "descending")).toMatchObject({ end: 10, tail: descending(1998, 8), bridgeAt: null });
  expect(addRead(moving, page({ ids: descending(2000, 10) }), "descending")).toMatchObject({ end: 20, repairs: 1 });
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
    ...page({ page: 2, perPage: 15, ids: [...descending(985, 5), ...descending(700, 10)] }),
    role: "bridge",
  } as const;
  expect(addRead(broken, bridge, "descending")).toMatchObject({ end: 30, waiting: [], repairs: 1 });
});
