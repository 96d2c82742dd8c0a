// What coverage decides about one page, one rule at a time: whether it joins, what it adds, and when reading ends.
import { describe, expect, test } from "vitest";
import {
  addRead,
  type Coverage,
  emptyCoverage,
  reopenedCoverage,
  resumedCoverage,
} from "../../../../../src/sync/list/coverage/coverage.ts";
import type { PageRead } from "../../../../../src/sync/list/coverage/read-types.ts";
import { descending } from "../ways/readings.ts";
import { numbered, page, twenty } from "./covered.ts";

/** Ids that have no order, so that only a shared one joins. */
const opaque = (rows: number) => Array.from({ length: rows }, (_, row) => `x${row}`);
const bridge = (read: PageRead): PageRead => ({ ...read, role: "bridge" });
const moving: Coverage = { ...twenty(true), moved: true };
const TAIL = descending(988, 8);

test("it begins with nothing, and is resumed and reopened with the boundary to prove again", () => {
  expect(emptyCoverage(10, true)).toMatchObject({ end: 0, tail: [], head: [], waiting: [], complete: false });
  expect(emptyCoverage(10, true)).toMatchObject({ fresh: true, proven: true, openEnd: false, endsEarly: false });
  expect(resumedCoverage(emptyCoverage(10, true))).toEqual(emptyCoverage(10, true));
  expect(resumedCoverage(twenty())).toEqual({ ...twenty(), fresh: false });
  expect(reopenedCoverage({ ...twenty(), complete: true })).toEqual({ ...twenty(), fresh: false, complete: false });
});

describe("behind a round count", () => {
  const thousand: Coverage = {
    ...emptyCoverage(10, true),
    end: 1_000,
    granted: 10,
    tail: ["b", "a"],
    total: 1_000,
    joinedTotal: 1_000,
    openEnd: true,
    bridges: 2,
  };
  test.each([
    { answer: "an empty page", read: { ids: [], total: 1_000 } },
    { answer: "a refused one", read: { ids: [], total: null, refused: true } },
    { answer: "the last page again", read: { ids: [...opaque(8), "b", "a"], total: 1_000 } },
  ])("$answer confirms it: the list is complete as it was read", ({ read }) => {
    const { lap: _, ...confirmed } = addRead(thousand, page({ page: 101, ...read }), "identity");
    const { lap: __, ...expected } = { ...thousand, openEnd: false, bridges: 0, complete: true };
    expect(confirmed).toEqual(expected);
  });
});

describe("a page joins", () => {
  test("by descending ids only to the last known one, and to none where rows had no id", () => {
    const tail = ["50", "40", "30"];
    const within = page({ page: 3, perPage: 9, ids: ["35", "20"] });
    expect(addRead({ ...moving, tail }, within, "descending")).toMatchObject({
      end: 20,
      tail: ["35", "20"],
      repairs: 0,
    });
    expect(addRead({ ...moving, tail: [] }, within, "descending")).toMatchObject({ tail: [], repairs: 1 });
  });

  test("by its place only where it touches, not within the rows that are known", () => {
    const within = page({ page: 3, perPage: 9, ids: opaque(9) });
    expect(addRead(twenty(), within, "identity")).toMatchObject({ end: 20, tail: TAIL, repairs: 1 });
  });

  test.each([
    { list: "an unchanged list", state: {}, total: 40, proven: true },
    { list: "a list that moved", state: { moved: true }, total: 40, proven: false },
    { list: "one that was resumed", state: { fresh: false }, total: 40, proven: false },
    {
      list: "one that was resumed, and did not overlap",
      state: { fresh: false, overlap: false },
      total: 40,
      proven: false,
    },
    { list: "another count", state: { total: 41 }, total: 41, proven: false },
    { list: "no count", state: { total: null, joinedTotal: null }, total: null, proven: false },
  ])("where pages cannot share a row; that is proof in $list: $proven", ({ state, total, proven }) => {
    const fixed = { ...twenty(true), fixed: true, ...state };
    const next = page({ page: 3, ids: opaque(10), total });
    expect(addRead(fixed, next, "identity")).toMatchObject({ end: 30, proven, repairs: 0 });
  });

  test("so only at the end, and only if it is no bridge: that shares a row, or is another step back", () => {
    const fixed = { ...moving, fixed: true };
    const broken = { end: 20, tail: TAIL, bridges: 1, repairs: 1 };
    expect(addRead(fixed, bridge(page({ page: 3, ids: opaque(10) })), "identity")).toMatchObject(broken);
    expect(addRead(fixed, page({ page: 2, ids: opaque(10) }), "identity")).toMatchObject(broken);
  });
});

describe("a page that joined", () => {
  test("keeps the ids of the head, and the tail if it ends where that does", () => {
    const beyond = addRead(twenty(), numbered(3, 980), "descending");
    expect(beyond).toMatchObject({ head: descending(1_000, 8), tail: descending(978, 8) });
    const same = addRead(twenty(), page({ page: 10, perPage: 2, ids: ["982", "981"] }), "identity");
    expect(same).toMatchObject({ end: 20, tail: TAIL });
  });

  test("and holds the last known id shows how far the list reaches now that rows above it are gone", () => {
    const up = addRead(moving, page({ page: 6, perPage: 3, ids: ["983", "982", "981"] }), "descending");
    expect(up).toMatchObject({ end: 18, tail: TAIL, complete: false });
  });

  test.each([
    { rule: "a short first page shows the size that is granted", read: page({ ids: descending(1_000, 7) }), size: 7 },
    { rule: "an empty one shows none", read: page({ ids: [] }), size: 10 },
    { rule: "neither does a full one", read: page({ perPage: 5, ids: descending(1_000, 5) }), size: 10 },
  ])("$rule", ({ read, size }) => {
    expect(addRead(emptyCoverage(10, false), read, "descending").size).toBe(size);
  });

  test("a later short page shows no size", () => {
    const short = addRead(twenty(), page({ page: 3, ids: descending(980, 4) }), "descending");
    expect(short).toMatchObject({ size: 10, end: 24, complete: false });
  });
});

describe("the list ends before its count", () => {
  const stuck = { complete: true, proven: false, endsEarly: true };
  const goesOn = { complete: false, proven: true, endsEarly: false };

  test.each([
    { rule: "a short page within", read: page({ page: 2, ids: descending(990, 6) }), expected: stuck },
    { rule: "a short page up to the end", read: page({ page: 3, perPage: 9, ids: ["982", "981"] }), expected: stuck },
    { rule: "but not a page beyond", read: page({ page: 3, perPage: 9, ids: descending(982, 3) }), expected: goesOn },
    { rule: "nor a full page", read: page({ page: 9, perPage: 2, ids: ["984", "983"] }), expected: goesOn },
    { rule: "nor a bridge", read: bridge(page({ page: 2, ids: descending(990, 6) })), expected: goesOn },
  ])("by $rule of what is known", ({ read, expected }) => {
    expect(addRead(moving, read, "descending")).toMatchObject(expected);
  });

  test("by an empty bridge of a list that stands still, which takes nothing from the tail", () => {
    const empty = bridge(page({ page: 3, perPage: 9, ids: [] }));
    expect(addRead(twenty(), empty, "identity")).toMatchObject({ ...stuck, end: 20, tail: TAIL });
  });

  test.each([
    { rule: "with a count that all pages proved", state: {}, read: { total: 9 }, endsEarly: true },
    {
      rule: "not if an earlier page joined without proof",
      state: { proven: false },
      read: { total: 9 },
      endsEarly: false,
    },
    { rule: "not if the service refuses the page", state: {}, read: { total: 9, refused: true }, endsEarly: false },
    { rule: "not if there is no count", state: {}, read: { total: null, more: true }, endsEarly: false },
  ])("by an empty page $rule", ({ state, read, endsEarly }) => {
    const empty = addRead({ ...emptyCoverage(10, false), ...state }, page({ ids: [], ...read }), "identity");
    expect(empty).toMatchObject({ complete: true, proven: false, endsEarly });
  });
});

describe("after six bridges the page counts as the next one of the list", () => {
  const tired = { ...moving, bridges: 6 };
  const accept = (read: PageRead) => addRead(tired, read, "descending");

  test("whatever its ids, and a short one within what is known is the end, also of a bridge", () => {
    const mixed = [...descending(900, 8), "2000"];
    expect(accept(page({ page: 3, perPage: 9, ids: mixed }))).toMatchObject({ end: 27, tail: mixed.slice(-8) });
    const short = page({ page: 3, perPage: 9, ids: ["900"] });
    for (const read of [short, bridge(short)])
      expect(accept(read)).toMatchObject({ end: 19, tail: ["900"], complete: true, proven: false });
  });

  test("a short first page still shows the granted size, and is no end", () => {
    expect(accept(page({ ids: descending(2_000, 5) }))).toMatchObject({ size: 5, complete: false, proven: false });
  });
});

describe("pages that wait", () => {
  test("stand in the order of their first rows, the shorter one first", () => {
    const inOrder = (spans: readonly (readonly [number, number])[]) =>
      spans
        .reduce(
          (before, [number, perPage]) =>
            addRead(before, page({ page: number, perPage, ids: opaque(perPage) }), "identity"),
          emptyCoverage(10, false),
        )
        .waiting.map((read) => [read.page, read.perPage]);
    // Rows 10 to 20, 10 to 15, 12 to 14, 9 to 18.
    expect(
      inOrder([
        [2, 10],
        [3, 5],
        [7, 2],
        [2, 9],
      ]),
    ).toEqual([
      [2, 9],
      [3, 5],
      [2, 10],
      [7, 2],
    ]);
  });

  test("are let go when the list is complete without them", () => {
    const ahead = addRead(addRead(twenty(), numbered(6, 950), "descending"), numbered(4, 970), "descending");
    expect(ahead.waiting).toHaveLength(2);
    expect(addRead(ahead, numbered(3, 980), "descending")).toMatchObject({ end: 40, complete: true, waiting: [] });
  });

  test("and do not fit a covering page that joined before them break the link", () => {
    const strange = page({ page: 14, perPage: 2, ids: ["700", "699"] });
    const joined = page({ page: 3, perPage: 9, ids: descending(982, 9) });
    const after = addRead({ ...moving, waiting: [strange] }, joined, "descending");
    expect(after).toMatchObject({ end: 27, waiting: [strange], bridgeAt: 26, bridges: 1, repairs: 1 });
  });

  test("and do not fit any more are let go if they are bridges", () => {
    const old = bridge(page({ page: 3, perPage: 9, ids: opaque(9) }));
    const ahead = numbered(4, 970);
    const after = addRead({ ...moving, waiting: [old], bridgeAt: 19, bridges: 1 }, ahead, "identity");
    expect(after).toMatchObject({ end: 20, waiting: [ahead], bridgeAt: 19, bridges: 1, repairs: 0 });
  });
});

describe("reads that bring no further row", () => {
  const uncounted = (more: Partial<Coverage> = {}): Coverage => ({
    ...twenty(),
    total: null,
    joinedTotal: null,
    idle: 3,
    ...more,
  });
  const beyond = (ids: readonly string[]) => page({ page: 5, perPage: 5, ids, total: null });
  const inside = page({ page: 9, perPage: 2, ids: ["984", "983"], total: null });
  const waiting = [numbered(4, 970)];

  test.each([
    { rule: "a page within what is known is one", state: {}, read: inside, idle: 4 },
    {
      rule: "the last page again, asked beyond the end, is twelve",
      state: {},
      read: beyond(descending(985, 5)),
      idle: 15,
    },
    {
      rule: "a further row ends the count, also beside a known one",
      state: {},
      read: beyond(descending(981, 5)),
      idle: 0,
    },
    { rule: "a page that waits is none", state: {}, read: numbered(4, 970), idle: 3 },
    { rule: "a page that waits beside others is none", state: { waiting }, read: numbered(5, 960), idle: 3 },
    {
      rule: "nor one of another size",
      state: { waiting },
      read: page({ page: 4, perPage: 9, ids: opaque(9) }),
      idle: 3,
    },
    { rule: "a page that waits already is one", state: { waiting }, read: numbered(4, 970), idle: 4 },
  ])("$rule", ({ state, read, idle }) => {
    expect(addRead(uncounted(state), read, "descending")).toMatchObject({ idle, complete: false });
  });

  test("end the list without proof after twenty-four", () => {
    const counted = (idle: number) => addRead(uncounted({ idle, waiting }), inside, "descending");
    expect(counted(22)).toMatchObject({ idle: 23, complete: false, waiting });
    expect(counted(23)).toMatchObject({ idle: 24, complete: true, proven: false, waiting: [] });
  });
});
