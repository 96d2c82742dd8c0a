// What a mirror takes on disk, in `status`.
import { expect, test } from "vitest";
import { diskJson, diskLines } from "../../../../../src/cli/terminal/status/disk-lines.ts";
import { DISK_PARTS, type DiskUsage } from "../../../../../src/warehouse/read/disk-usage.ts";

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
