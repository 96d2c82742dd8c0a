// Destinations in `status`.
import { expect, test } from "vitest";
import {
  deliveryJson,
  deliveryLines,
  diskJson,
  diskLines,
} from "../../../../../src/cli/terminal/status/delivery-lines.ts";
import type { DeliveryFigures } from "../../../../../src/deliver/notes.ts";
import { DISK_PARTS, type DiskUsage } from "../../../../../src/warehouse/read/disk-usage.ts";

// What a mirror takes on disk, in `status`.

const usage = (bytes: Partial<DiskUsage["bytes"]>, growth: DiskUsage["growth"] = null): DiskUsage => ({
  bytes: { ...NOTHING, ...bytes },
  total: Object.values(bytes).reduce((sum, size) => sum + size, 0),
  archiveFiles: 1,
  growth,
});
const NOTHING: DiskUsage["bytes"] = {
  ...{ snapshot: 0, working: 0, responses: 0, journal: 0, intents: 0 },
  ...{ baseline: 0, old_copies: 0, export: 0, audit: 0, other: 0 },
};

test("parts that take nothing are not named, and only the snapshot has free blocks", () => {
  expect(diskLines(usage({ snapshot: 2 ** 20, old_copies: 512 }), 0.126)).toEqual([
    "disk: 1.0 MiB (snapshot 1.0 MiB, 13% of it free blocks; old copies 512 B)",
  ]);
  expect(Object.keys(NOTHING).sort()).toEqual([...DISK_PARTS].sort());
});

test.each([
  [true, "archive: 1 file; it grew by 1.0 KiB in 2026-01"],
  [false, "archive: 1 file; it grew by 1.0 KiB in 2026-01 so far"],
])("growth is that of a whole month: %s", (whole, line) => {
  expect(diskLines(usage({}, { month: "2026-01", whole, bytes: 1024 }), 0)[1]).toBe(line);
});

test("for programs the share of free blocks has three digits", () => {
  expect(diskJson(usage({}), 0.12345)).toMatchObject({ snapshot_free_share: 0.123, archive_growth: null });
});

const figure = (more: Partial<DeliveryFigures>): DeliveryFigures => ({
  name: "lake",
  kind: "parquet",
  state: "up to date",
  change: 7,
  behindMs: 0,
  deliveredAt: 1,
  lastMs: 20,
  leftOut: [],
  failing: null,
  ...more,
});
const shown = (...figures: DeliveryFigures[]) =>
  deliveryLines(
    figures,
    200,
    (ms) => (ms === null ? "never" : `${ms} ago`),
    (text) => `!${text.trim()}!`,
  ).join("\n");
const failing = { code: "DESTINATION_AWAY", since: 3, at: 9, attempts: 4, givenUp: false };

test("without destinations there is no table", () => {
  expect(shown()).toBe("");
});

test("a destination at the newest change is not behind, one that holds nothing is not compared", () => {
  expect(shown(figure({}))).toMatch(/│ lake +│ parquet │ up to date │ no +│ 1 ago/);
  expect(shown(figure({ behindMs: 90_000, state: "behind" }))).toMatch(/│ behind │ 1m 30s │/);
  expect(shown(figure({ behindMs: null, deliveredAt: null, state: "never delivered" }))).toMatch(
    /│ never delivered │ +│ never/,
  );
});

test("a failure has its code: once with its time, then how often and since when", () => {
  expect(shown(figure({ state: "failing", failing: { ...failing, attempts: 1 } }))).toContain(
    "!failing: DESTINATION_AWAY, 9 ago!",
  );
  expect(shown(figure({ state: "given up", failing }))).toContain("!given up: DESTINATION_AWAY, 4 times since 3 ago!");
});

test("only a failing state is red, whatever a destination is called", () => {
  expect(shown(figure({ name: "failing" }))).not.toContain("!");
});

test("for programs states are words without spaces, and times are seconds and dates", () => {
  expect(deliveryJson([figure({ behindMs: 1500, state: "given up", failing })])).toMatchObject([
    {
      state: "given_up",
      behind_seconds: 1.5,
      delivered_at: "1970-01-01T00:00:00.001Z",
      error: "DESTINATION_AWAY",
      failing_since: "1970-01-01T00:00:00.003Z",
      failed_attempts: 4,
    },
  ]);
  expect(deliveryJson([figure({ behindMs: null })])).toMatchObject([
    { behind_seconds: null, error: null, failing_since: null, failed_attempts: 0 },
  ]);
});
