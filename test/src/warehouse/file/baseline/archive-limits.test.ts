// What the limits of the archive remove, and what they never do.
import { describe, expect, test } from "vitest";
import { beyondLimits } from "../../../../../src/warehouse/file/baseline/archive-limits.ts";

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 23);
const MB = 1024 * 1024;

/** One file of 100 MB a day, oldest first. */
const daily = (days: number) =>
  Array.from({ length: days }, (_, index) => {
    const age = days - index - 1;
    return { path: `${age} days old`, at: NOW - age * DAY_MS, bytes: 100 * MB, firstEntry: null, runId: null };
  });
const paths = (files: readonly { readonly path: string }[]) => files.map(({ path }) => path);

describe("the archive's limits", () => {
  test("by age: what is older goes", () => {
    const beyond = beyondLimits(daily(5), { days: 3, bytes: null }, { now: NOW, mirrorBytes: 0 });
    expect(paths(beyond)).toEqual(["4 days old"]);
  });
  test("by size: the oldest go until the rest fits", () => {
    const beyond = beyondLimits(daily(5), { days: null, bytes: 250 * MB }, { now: NOW, mirrorBytes: 0 });
    expect(paths(beyond)).toEqual(["4 days old", "3 days old", "2 days old"]);
  });
  test("as large as the mirror, at least 256 MiB", () => {
    const limits = { days: null, bytes: "mirror" } as const;
    expect(beyondLimits(daily(6), limits, { now: NOW, mirrorBytes: 500 * MB })).toHaveLength(1);
    expect(beyondLimits(daily(6), limits, { now: NOW, mirrorBytes: MB })).toHaveLength(4);
  });
  test("nothing of the last day, whatever the limits: a killed run may still need it", () => {
    const beyond = beyondLimits(daily(5), { days: 0, bytes: 0 }, { now: NOW, mirrorBytes: 0 });
    expect(paths(beyond)).not.toContain("0 days old");
  });
  test("no limit: everything stays", () => {
    expect(beyondLimits(daily(500), { days: null, bytes: null }, { now: NOW, mirrorBytes: 0 })).toEqual([]);
  });
});
