// Each rule of stored progress by itself: page sizes, how far a list was read, and what is read again because it is too old.
import { describe, expect, test } from "vitest";
import { type Coverage, emptyCoverage, reopenedCoverage } from "../../../../../src/sync/list/coverage/coverage.ts";
import { startWatermark } from "../../../../../src/sync/list/ways/changes.ts";
import { startFilter } from "../../../../../src/sync/list/ways/filter.ts";
import { startLog } from "../../../../../src/sync/list/ways/log.ts";
import {
  coverageOf,
  cursorText,
  inFixedPages,
  inPagesOf,
  readSoFar,
  reopened,
  storedCursor,
} from "../../../../../src/sync/list/ways/progress.ts";
import { startKnown, startWalk } from "../../../../../src/sync/list/ways/walk.ts";
import { twenty } from "../coverage/covered.ts";
import { aCursor } from "./readings.ts";

const walk = startWalk({ size: 10, overlap: true, proof: "descending" });
const watermark = startWatermark({ size: 10, since: 7 });
const filter = startFilter({ size: 10, since: 7 });
const known = startKnown({ size: 10 });
const log = startLog({ size: 10, first: true });
const listed = [walk, watermark, filter, known];
const over = (more: Partial<Coverage> = {}): Coverage => ({ ...twenty(), granted: 10, ...more });

test.each(listed)("$kind: pages of a size that the service took before come back", (progress) => {
  expect(coverageOf(inPagesOf(progress, 40))).toEqual({ ...coverageOf(progress), size: 40 });
});

test.each(listed)("$kind: pages of one size, where the service takes no other", (progress) => {
  const fixed = inFixedPages(progress, true);
  expect(coverageOf(fixed)).toEqual({ ...coverageOf(progress), fixed: true });
  expect(fixed.kind).toBe(progress.kind);
  expect(inFixedPages(fixed, true)).toBe(fixed);
});

test("a log is read in pages of any size", () => {
  expect(inPagesOf(log, 40)).toEqual({ ...log, size: 40 });
  expect(inFixedPages(log, true)).toBe(log);
});

test("how far a list was read: rows of its coverage, or whole pages of a log", () => {
  const coverage = over({ openEnd: true });
  const soFar = { end: 20, total: 40, openEnd: true };
  expect(readSoFar({ ...walk, coverage })).toMatchObject(soFar);
  expect(readSoFar({ ...log, page: 4, total: 99 })).toEqual({ end: 30, total: 99, openEnd: false });
});

describe("progress that is too old to be believed", () => {
  test.each([walk, filter, known])("$kind: an unfinished reading goes on, and learns the page size anew", (before) => {
    const after = reopened({ ...before, coverage: over() });
    expect(after.kind).toBe(before.kind);
    expect(coverageOf(after)).toEqual(over({ granted: 0 }));
  });

  test("a walk that was complete reads its end once more", () => {
    const coverage = over({ complete: true });
    const again = reopenedCoverage({ ...coverage, granted: 0 });
    expect(reopened({ ...walk, coverage })).toEqual({ ...walk, coverage: again });
    expect(reopened({ ...known, coverage })).toEqual({ ...known, coverage: again });
  });

  test.each([
    [{ reachedKnown: true }, {}],
    [{ reachedKnown: false }, { complete: true }],
  ] as const)("changes that were all read are read anew from the same time (%j, %j)", (more, coverage) => {
    const before = { ...watermark, ...more, newest: 99, coverage: over({ size: 5, ...coverage }) };
    expect(reopened(before)).toEqual(startWatermark({ size: 5, since: 7 }));
  });

  test("changes that are still being read go on, and know that their first pages are old", () => {
    const before = { ...watermark, newest: 99, coverage: over() };
    expect(reopened(before)).toEqual({ ...before, coverage: over({ granted: 0 }), resumed: true });
  });

  test.each([
    [null, false],
    [40, true],
  ] as const)(
    "a filtered list that was read is read anew, with its count (%s) asked for as before",
    (total, counted) => {
      const before = { ...filter, total, newest: 99, coverage: over({ size: 5, complete: true }) };
      expect(reopened(before)).toEqual(startFilter({ size: 5, since: 7, counted }));
      // A reading of some rows only stays one: it says nothing of the others.
      expect(reopened({ ...before, only: true })).toEqual(startFilter({ size: 5, since: 7, only: true, counted }));
    },
  );

  test("a log goes on where it stood", () => {
    expect(reopened({ ...log, page: 4, granted: 10 })).toEqual({ ...log, page: 4, granted: 0 });
  });
});

test("a page that waits is stored as it was received", () => {
  const read = { page: 3, perPage: 10, ids: ["a"], rows: 1, values: [null], total: 40, more: true, granted: 5 };
  const waiting = (["cover", "bridge", "head"] as const).map((role) => ({ ...read, role, refused: true }));
  const coverage = { ...emptyCoverage(10, true), waiting };
  const progress = { ...walk, coverage };
  expect(storedCursor(cursorText(aCursor(progress)))?.progress).toEqual(progress);
});
