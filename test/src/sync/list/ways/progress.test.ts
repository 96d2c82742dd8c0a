// Progress of any strategy: stored, resumed, and each page given to the strategy that asked for it.
import { expect, test } from "vitest";
import { emptyCoverage, resumedCoverage } from "../../../../../src/sync/list/coverage/coverage.ts";
import { acceptWatermark, startWatermark } from "../../../../../src/sync/list/ways/changes.ts";
import { acceptFilter, startFilter } from "../../../../../src/sync/list/ways/filter.ts";
import { acceptLog, startLog } from "../../../../../src/sync/list/ways/log.ts";
import {
  acceptRead,
  coverageOf,
  nextStep,
  type Progress,
  withPageSize,
} from "../../../../../src/sync/list/ways/progress.ts";
import { acceptWalk, startKnown, startWalk } from "../../../../../src/sync/list/ways/walk.ts";
import { page, twenty } from "../coverage/covered.ts";
import { descending, resumed } from "./readings.ts";

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
    expect(resumed(progress)).toEqual(progress);
    const read = page({ ids: descending(1000, 10), values: Array.from({ length: 10 }, (_, row) => 500 - row) });
    const later = acceptRead(progress, read);
    const again = resumed(later);
    const coverage = coverageOf(later);
    expect(again === undefined ? null : coverageOf(again)).toEqual(
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
  const read = page({ ids: descending(1000, 10), values: Array.from({ length: 10 }, (_, row) => 500 - row) });
  expect(acceptRead(walk, read)).toEqual(acceptWalk(walk, read));
  expect(acceptRead(watermark, read)).toEqual(acceptWatermark(watermark, read));
  expect(acceptRead(filter, read)).toEqual(acceptFilter(filter, read));
  expect(acceptRead(known, read)).toEqual(acceptWalk(known, read));
  expect(acceptRead(log, read)).toEqual(acceptLog(log, read));
});

test("a resume proves the boundary again, unless nothing was read yet", () => {
  expect(resumedCoverage(twenty()).fresh).toBe(false);
  expect(resumedCoverage(emptyCoverage(10, false)).fresh).toBe(true);
});

test("a walk that comes up short ends without another one; looks at the head are counted", () => {
  const walk = acceptRead(
    startWalk({ size: 10, overlap: false, proof: "descending" }),
    page({ ids: descending(9, 3), total: 3 }),
  );
  const short = nextStep(walk, { ...facts, seen: 2 }, [], 4, "x");
  expect(short).toMatchObject({ step: { kind: "done", addsUp: false }, progress: { pass: 1 } });
  expect(nextStep(walk, { ...facts, seen: 3 }, [], 4, "x")).toMatchObject({
    step: { addsUp: true },
    progress: { pass: 1 },
  });
  expect(nextStep(walk, { ...facts, seen: 4 }, [], 4, "x")).toMatchObject({ step: { kind: "done", addsUp: false } });
  if (walk.kind !== "walk") throw new TypeError("no walk");
  const moved = { ...walk, coverage: { ...walk.coverage, moved: true, total: 4 } };
  const head = { kind: "read", reads: [{ page: 1, role: "head" }] };
  expect(nextStep(moved, { ...facts, seen: 3 }, [], 4, "x").step).toMatchObject(head);
  expect(nextStep({ ...moved, kind: "known" }, { ...facts, seen: 3 }, [], 4, "x").step).toMatchObject(head);
});

test("what a filter and a watermark say names the field and the counts", () => {
  const unsorted = acceptRead(startWatermark({ size: 10, since: 0 }), page({ ids: ["a", "b"], values: [1, 2] }));
  expect(nextStep(unsorted, facts, [], 1, "updatedAt").step).toMatchObject({
    because: "the service does not sort by updatedAt",
  });
});
