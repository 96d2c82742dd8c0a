// Parts of a delivered set that go: earlier ones after their grace period, unfinished ones after a day.
import { expect, test } from "vitest";
import { isSweepDue, partKey, sortRetired, sweep } from "../../../../../src/deliver/kinds/parquet/old-parts.ts";

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 0, 10);
const since = (ms: number) => new Date(NOW - ms).toISOString();

test("an earlier part is due when its grace period is over, and not before", () => {
  const parts = [
    { file: "a", since: since(1000) },
    { file: "b", since: since(999) },
  ];
  const { due, kept } = sortRetired(parts, 1000, NOW);
  expect([due.map(({ file }) => file), kept.map(({ file }) => file)]).toEqual([["a"], ["b"]]);
});

test("a store is searched once a day; a time that cannot be read is long ago", () => {
  expect([isSweepDue(since(DAY_MS), NOW), isSweepDue(since(DAY_MS - 1), NOW), isSweepDue("", NOW)]).toEqual([
    ...[true, false, true],
  ]);
});

const OLD_PART = "signals/2025-01-0123456789abcdef-01234567.parquet";
const UUID = "01234567-0123-0123-0123-0123456789ab";

/** Keys that are removed of a store with these objects, each so old. */
const swept = async (objects: Readonly<Record<string, number>>, named: readonly string[] = [], graceMs = 0) => {
  const deleted: string[] = [];
  const store = {
    list: async function* () {
      for (const [key, age] of Object.entries(objects)) yield { key, modifiedAt: NOW - age };
    },
    delete: async (keys: readonly string[]) => void deleted.push(...keys),
  };
  const found = await sweep(store, new Set(named), { graceMs, now: NOW }, new AbortController().signal);
  expect(found).toBe(deleted.length);
  return deleted;
};

test("only what a delivery writes is removed, however old anything else is", async () => {
  const ours = [OLD_PART, `accounts/.${UUID}.new`, `.${UUID}.new`, `_conditions-${UUID}`];
  const others = ["_manifest.json", "_symlink/signals/manifest", "signals/mine.parquet", "notes.txt", `x/${OLD_PART}`];
  const old = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, 9 * DAY_MS]));
  expect(await swept(old([...ours, ...others]))).toEqual(ours);
});

test("a part that a manifest names stays, and so does one that another delivery may be writing", async () => {
  expect(await swept({ [OLD_PART]: 9 * DAY_MS }, [OLD_PART])).toEqual([]);
  expect(await swept({ [OLD_PART]: DAY_MS })).toEqual([]);
  expect(await swept({ [OLD_PART]: DAY_MS + 1 })).toEqual([OLD_PART]);
  expect(await swept({ [OLD_PART]: 2 * DAY_MS }, [], 3 * DAY_MS)).toEqual([]);
});

test("the name of a part is one that a later sweep knows as its own", async () => {
  const sha256 = "0123456789abcdef".repeat(4);
  const keys = [null, "2025-01"].map((partition) => partKey({ table: "signals", partition, sha256 }, UUID));
  expect(keys).toEqual(["signals/all-0123456789abcdef-01234567.parquet", OLD_PART]);
  expect(await swept(Object.fromEntries(keys.map((key) => [key, 2 * DAY_MS])))).toEqual(keys);
});
