// Progress of any strategy: stored and resumed, page sizes, how far a list was read, and what is read again because it is
// too old.
import { describe, expect, test } from "vitest";
import {
  type Coverage,
  emptyCoverage,
  reopenedCoverage,
  resumedCoverage,
} from "../../../../../src/sync/list/coverage/coverage.ts";
import { acceptWatermark, startWatermark } from "../../../../../src/sync/list/ways/changes.ts";
import { acceptFilter, startFilter } from "../../../../../src/sync/list/ways/filter.ts";
import { acceptLog, startLog } from "../../../../../src/sync/list/ways/log.ts";
import {
  acceptRead,
  coverageOf,
  inFixedPages,
  inPagesOf,
  nextStep,
  type Progress,
  readSoFar,
  reopened,
  storedCursor,
  withPageSize,
  withTotal,
} from "../../../../../src/sync/list/ways/progress.ts";
import { acceptWalk, startKnown, startWalk } from "../../../../../src/sync/list/ways/walk.ts";
import { page, twenty } from "../coverage/covered.ts";
import { aCursor, cover, descending, facts, resumed } from "./readings.ts";

const walk = startWalk({ size: 10, overlap: true, proof: "descending" });
const watermark = startWatermark({ size: 10, since: 7 });
const filter = startFilter({ size: 10, since: 7 });
const known = startKnown({ size: 10 });
const log = startLog({ size: 10, first: true });
const listed = [walk, watermark, filter, known];
const all: readonly Progress[] = [...listed, log];
const over = (more: Partial<Coverage> = {}): Coverage => ({ ...twenty(), granted: 10, ...more });
/** Ten rows, dated. */
const read = page({ ids: descending(1000, 10), values: Array.from({ length: 10 }, (_, row) => 500 - row) });

test.each(all)("$kind is stored and taken up as it was, and begins with the first page", (progress) => {
  expect(resumed(progress)).toEqual(progress);
  const later = acceptRead(progress, read);
  const again = resumed(later);
  const coverage = coverageOf(later);
  expect(again === undefined ? null : coverageOf(again)).toEqual(
    coverage === null ? null : { ...coverage, fresh: false },
  );
  expect(later.kind).toBe(progress.kind);
  const first = { kind: "read", reads: [{ page: 1, perPage: 10, role: "cover" }] };
  expect(nextStep(progress, facts(), [], 1, "x").step).toEqual(first);
});

test("each page goes to the strategy it was read for", () => {
  expect(acceptRead(walk, read)).toEqual(acceptWalk(walk, read));
  expect(acceptRead(watermark, read)).toEqual(acceptWatermark(watermark, read));
  expect(acceptRead(filter, read)).toEqual(acceptFilter(filter, read));
  expect(acceptRead(known, read)).toEqual(acceptWalk(known, read));
  expect(acceptRead(log, read)).toEqual(acceptLog(log, read));
});

describe("page sizes", () => {
  const size = (of: Progress) => (of.kind === "log" ? of.size : coverageOf(of)?.size);

  test.each(all)("$kind takes a smaller page once that is all that is granted", (progress) => {
    expect([size(withPageSize(progress, 4)), size(withPageSize(progress, 40))]).toEqual([4, 10]);
  });

  test.each(listed)(
    "$kind: pages of a size that the service took before come back; or of one size only",
    (progress) => {
      expect(coverageOf(inPagesOf(progress, 40))).toEqual({ ...coverageOf(progress), size: 40 });
      const fixed = inFixedPages(progress, true);
      expect(coverageOf(fixed)).toEqual({ ...coverageOf(progress), fixed: true });
      expect(fixed.kind).toBe(progress.kind);
      expect(inFixedPages(fixed, true)).toBe(fixed);
    },
  );

  test("a log is read in pages of any size", () => {
    expect(inPagesOf(log, 40)).toEqual({ ...log, size: 40 });
    expect(inFixedPages(log, true)).toBe(log);
  });
});

test("how far a list was read: rows of its coverage, or whole pages of a log", () => {
  const coverage = over({ openEnd: true });
  const soFar = { end: 20, total: 40, openEnd: true };
  expect(readSoFar({ ...walk, coverage })).toMatchObject(soFar);
  expect(readSoFar({ ...log, page: 4, total: 99 })).toEqual({ end: 30, total: 99, openEnd: false });
});

test("a resume proves the boundary again, unless nothing was read yet", () => {
  expect(resumedCoverage(twenty()).fresh).toBe(false);
  expect(resumedCoverage(emptyCoverage(10, false)).fresh).toBe(true);
});

test("a walk that comes up short ends without another one; looks at the head are counted", () => {
  const three = acceptWalk(
    startWalk({ size: 10, overlap: false, proof: "descending" }),
    page({ ids: descending(9, 3), total: 3 }),
  );
  const ends = (seen: number) => nextStep(three, facts({ seen }), [], 4, "x");
  expect(ends(2)).toMatchObject({ step: { kind: "done", addsUp: false }, progress: { pass: 1 } });
  expect(ends(3)).toMatchObject({ step: { addsUp: true }, progress: { pass: 1 } });
  expect(ends(4)).toMatchObject({ step: { kind: "done", addsUp: false } });
  const moved = { ...three, coverage: { ...three.coverage, moved: true, total: 4 } };
  const head = { kind: "read", reads: [{ page: 1, role: "head" }] };
  for (const kind of ["walk", "known"] as const)
    expect(nextStep({ ...moved, kind }, facts({ seen: 3 }), [], 4, "x").step).toMatchObject(head);
});

test("a walk whose pages did not join begins again where it came up short, once; one that waits, or adds up, does not", () => {
  const torn = { ...walk, headJoined: true, coverage: over({ complete: true, proven: false, total: 21 }) };
  const ends = (seen: number) => nextStep(torn, facts({ seen }), [], 4, "x");
  expect(ends(20)).toMatchObject({ step: { kind: "read", reads: [{ page: 1 }] }, progress: { pass: 2 } });
  expect(ends(21)).toMatchObject({ step: { kind: "done", addsUp: false }, progress: { pass: 1 } });
  expect(nextStep(torn, facts({ seen: 20 }), [cover(3)], 4, "x")).toMatchObject({
    step: { kind: "wait" },
    progress: { pass: 1 },
  });
});

test("a newer count of the list goes to a reading of changes; a walk and a log have their own", () => {
  expect(withTotal(filter, 5)).toEqual({ ...filter, total: 5 });
  expect(withTotal(watermark, 5)).toEqual({ ...watermark, coverage: { ...watermark.coverage, total: 5 } });
  for (const own of [walk, known, log]) expect(withTotal(own, 5)).toBe(own);
});

test("what a watermark says names the field", () => {
  const unsorted = acceptRead(startWatermark({ size: 10, since: 0 }), page({ ids: ["a", "b"], values: [1, 2] }));
  const because = "the service does not sort by updatedAt";
  expect(nextStep(unsorted, facts(), [], 1, "updatedAt").step).toMatchObject({ because });
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

describe("a stored cursor", () => {
  const cursor = aCursor(walk);

  test("comes back as it was, pages that wait as they were received", () => {
    const waits = { page: 3, perPage: 10, ids: ["a"], rows: 1, values: [null], total: 40, more: true, granted: 5 };
    const waiting = (["cover", "bridge", "head"] as const).map((role) => ({ ...waits, role, refused: true }));
    const progress = { ...walk, coverage: { ...emptyCoverage(10, true), waiting } };
    expect(storedCursor(JSON.stringify(aCursor(progress)))).toEqual({ ...cursor, progress });
  });

  test.each([
    ...[null, undefined, "", "{", "[]", "null", '{"progress":{},"startedAt":1}'],
    JSON.stringify({ ...cursor, progress: { ...cursor.progress, kind: "leap" } }),
    JSON.stringify({ ...cursor, progress: { ...cursor.progress, coverage: {} } }),
  ])("that is %j starts anew", (text) => {
    expect(storedCursor(text)).toBeNull();
  });
});
