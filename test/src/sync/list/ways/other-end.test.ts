// The other end of a list whose deep pages the service refuses: decisions.
import { expect, test } from "vitest";
import { emptyCoverage } from "../../../../../src/sync/list/coverage/coverage.ts";
import { emptyOtherEnd, joinEnds, readsFromEnd, rowsOfBoth } from "../../../../../src/sync/list/ways/other-end.ts";
import { reopened, resumeProgress, serialiseProgress } from "../../../../../src/sync/list/ways/progress.ts";
import {
  acceptWalk,
  fromOtherEnd,
  hasOtherEnd,
  nextWalk,
  startWalk,
  withoutOtherEnd,
} from "../../../../../src/sync/list/ways/walk.ts";

const DEPTH = 60;

test("the rest is read from the other end, however long it is, once and only in a list in order", () => {
  const walk = startWalk({ size: 10, overlap: true, proof: "identity" });
  const after = (end: number, total: number | null) => ({ ...walk, coverage: { ...walk.coverage, end, total } });
  expect([null, 60, 61, 500].map((total) => hasOtherEnd(after(DEPTH, total)))).toEqual([false, false, true, true]);
  expect([hasOtherEnd(after(0, 5)), hasOtherEnd({ ...after(DEPTH, 500), ordered: false })]).toEqual([false, false]);
  const turned = fromOtherEnd(after(DEPTH, 500));
  expect([hasOtherEnd(turned), hasOtherEnd(withoutOtherEnd(turned))]).toEqual([false, false]);
  expect(withoutOtherEnd(turned).coverage.end).toBe(DEPTH);
});

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => String(from + at));
const page = (ids: readonly string[], at: number, total: number) =>
  ({ page: at, perPage: 10, role: "cover", ids, rows: ids.length, values: [], total }) as const;

test("both parts must share a row, and their counts agree", () => {
  const head = acceptWalk(
    startWalk({ size: 10, overlap: false, proof: "descending" }),
    page(numbers(10, 19).toReversed(), 1, 14),
  );
  const turned = fromOtherEnd(head);
  expect(resumeProgress(serialiseProgress(turned))).toEqual(turned);
  const ends = (ids: readonly string[], total: number) => acceptWalk(turned, page(ids, 1, total)).coverage;
  expect(ends(numbers(6, 15), 14)).toMatchObject({ complete: true, proven: true, moved: false });
  expect(ends(numbers(6, 15), 13)).toMatchObject({ complete: true, moved: true });
  expect(ends(numbers(0, 9), 14)).toMatchObject({ complete: true, proven: false });
  expect(ends(numbers(6, 15).toReversed(), 14)).toMatchObject({ complete: true, proven: false });
  expect(ends(numbers(0, 9), 40)).toMatchObject({ complete: false });
  expect(
    nextWalk(turned, { rows: 10, matching: null, seen: 10, rejected: 0, last: null, acceptedGap: 0 }, [], 4),
  ).toEqual({
    kind: "read",
    reads: [{ page: 1, perPage: 10, role: "cover" }],
  });
});

/** A list of 14 rows, 10 of them read from the head and the rest, down to `lowest`, from the other end. */
const readTo = (lowest: number, highest: number) => {
  const head = startWalk({ size: 10, overlap: false, proof: "descending" });
  const turned = fromOtherEnd(acceptWalk(head, page(numbers(10, 19).toReversed(), 1, 14)));
  return acceptWalk(turned, page(numbers(lowest, highest), 1, 14));
};

test("both ends must share a row anew where an old reading of them is not believed", () => {
  const before = readTo(6, 15);
  expect(before).toMatchObject({ coverage: { complete: true, proven: true }, fromHead: { joined: true } });
  const again = reopened(before);
  expect(again).toMatchObject({ coverage: { end: 0, complete: false }, fromHead: { coverage: { end: 10 } } });
  // As many rows as before, and none of them among those that were read from the head.
  const apart = again.kind === "walk" ? acceptWalk(again, page(numbers(0, 4), 1, 14)) : null;
  expect(apart?.coverage).toMatchObject({ complete: true, proven: false });
});

test("of an old reading whose ends have not met, no page is read again", () => {
  const before = readTo(0, 2);
  expect(before.coverage).toMatchObject({ end: 3, complete: false });
  const again = reopened(before);
  expect(again).toMatchObject({ coverage: { end: 3, complete: false }, fromHead: { joined: false } });
  expect(again.kind === "walk" ? rowsOfBoth(again.fromHead, again.coverage) : 0).toBe(13);
});

test("no page is requested that lies within what was read from the head", () => {
  const head = { coverage: { ...emptyCoverage(10, true), end: 60 }, joined: false };
  const other = { ...emptyCoverage(10, true), end: 30, total: 100 };
  const reads = [4, 5, 6].map((at) => ({ page: at, perPage: 10, role: "cover" }) as const);
  expect(readsFromEnd(head, other, reads).map(({ page }) => page)).toEqual([4, 5]);
  const joined = joinEnds(head, emptyCoverage(10, true), { read: page([], 1, 50), ordered: true });
  expect(joined.coverage).toMatchObject({ complete: true, proven: false });
});

const fromHead = { coverage: { ...emptyCoverage(10, true), end: 60 }, joined: false };
const role = (at: number, name: "cover" | "bridge") => ({ page: at, perPage: 10, role: name }) as const;

test("rows of both parts are counted together, and the other end begins with nothing read", () => {
  const other = { ...emptyCoverage(10, false), end: 30, granted: 7, fixed: true };
  expect([rowsOfBoth(null, other), rowsOfBoth(fromHead, other)]).toEqual([30, 90]);
  expect(emptyOtherEnd(other)).toEqual({ ...emptyCoverage(10, true), granted: 7, fixed: true });
});

test.each([
  ["without a count all are", null, [role(9, "cover")], [9]],
  // 41 rows are left: the one that is shared is the last of them.
  ["the page with the last row that is left", 100, [role(5, "cover"), role(6, "cover")], [5]],
  ["a page that begins behind it", 99, [role(5, "cover")], []],
  ["the first page of a list that became shorter", 50, [role(1, "cover"), role(2, "cover")], [1]],
  ["bridges, wherever they lie", 100, [role(9, "bridge"), role(9, "cover")], [9]],
  ["a bridge alone", 100, [role(9, "bridge")], [9]],
] as const)("which pages from the other end are needed: %s", (_, total, reads, needed) => {
  const other = { ...emptyCoverage(10, true), total };
  expect(readsFromEnd(fromHead, other, reads).map(({ page }) => page)).toEqual(needed);
});

test.each([
  ["the list moved at the other end", { moved: true }, {}, true],
  ["the list moved at its head", {}, { moved: true }, true],
  ["the counts differ", {}, { total: 41 }, true],
  ["neither", {}, {}, false],
] as const)("two parts that meet make one list that moved if %s", (_, other, head, moved) => {
  const before = { ...emptyCoverage(10, true), waiting: [page(["x"], 9, 40)], bridgeAt: 3, openEnd: true, ...other };
  const met = { coverage: { ...fromHead.coverage, end: 31, total: 40, tail: ["9"], ...head }, joined: false };
  const { coverage, fromHead: next } = joinEnds(met, before, { read: page(numbers(0, 9), 1, 40), ordered: true });
  expect(coverage).toMatchObject({ complete: true, moved, proven: true, waiting: [], bridgeAt: null, openEnd: false });
  expect(next.joined).toBe(true);
});
