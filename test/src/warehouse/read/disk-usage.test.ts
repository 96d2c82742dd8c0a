// Bytes of a data directory by part, without a lock, also where it holds ten thousand files.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { readDiskUsage } from "../../../../src/warehouse/read/disk-usage.ts";
import { tempDir } from "../temp-dir.ts";

const NOW = Date.UTC(2026, 10, 15);

const aFile = (dataDir: string, path: string, bytes: number) => {
  mkdirSync(dirname(join(dataDir, path)), { recursive: true });
  writeFileSync(join(dataDir, path), Buffer.alloc(bytes));
};

test("every file that duckmirror writes belongs to one part, and nothing else is counted", () => {
  const dataDir = tempDir();
  const files = {
    "warehouse.duckdb": 1,
    "state/working.duckdb": 2,
    "state/working.duckdb.wal": 4,
    "state/archive/2026-11/20261101T000000Z-a.ndjson.gz": 8,
    "state/archive/2026-11/20261101T000000Z-a.intents.ndjson": 16,
    "state/archive/2026-11/000000000001.journal.ndjson": 32,
    "state/working.duckdb.20261101T000000Z.old": 64,
    "state/working.duckdb.20261101T000000Z.old.wal": 128,
    "state/snapshots/1.duckdb": 16_384,
    "export/signals/part-0.parquet": 256,
    "export-csv/signals.csv": 512,
    "state/audit/2026-11-01.jsonl": 1024,
    "state/archive/forgotten.json": 2048,
    "state/keys.json": 4096,
    ".warehouse.duckdb.new": 8192,
    "other-profile/warehouse.duckdb": 1_000_000,
    "notes.txt": 1_000_000,
  };
  for (const [path, bytes] of Object.entries(files)) aFile(dataDir, path, bytes);
  symlinkSync(join(dataDir, "other-profile"), join(dataDir, "state", "elsewhere"));
  const usage = readDiskUsage(dataDir, NOW);
  expect(usage.bytes).toMatchObject({
    snapshot: 1,
    working: 6,
    responses: 8,
    intents: 16,
    journal: 32,
    old_copies: 192,
    kept_snapshots: 16_384,
    export: 768,
    audit: 1024,
  });
  expect(usage.bytes.other).toBeGreaterThanOrEqual(2048 + 4096 + 8192);
  expect(usage.bytes.other).toBeLessThan(20_000);
  expect(usage.total).toBe(Object.values(usage.bytes).reduce((sum, bytes) => sum + bytes, 0));
  expect(usage.archiveFiles).toBe(3);
});

test("growth is what the archive got in the last whole month, or so far in the first one", () => {
  const dataDir = tempDir();
  expect(readDiskUsage(dataDir, NOW).growth).toBeNull();
  aFile(dataDir, "state/archive/2026-11/a.ndjson.gz", 10);
  expect(readDiskUsage(dataDir, NOW).growth).toEqual({ month: "2026-11", whole: false, bytes: 10 });
  aFile(dataDir, "state/archive/2026-10/b.ndjson.gz", 20);
  aFile(dataDir, "state/archive/2026-10/000000000001.journal.ndjson", 5);
  aFile(dataDir, "state/archive/2026-09/c.ndjson.gz", 40);
  expect(readDiskUsage(dataDir, NOW).growth).toEqual({ month: "2026-10", whole: true, bytes: 25 });
});

test("ten thousand files are read in under two seconds of processor time", () => {
  const dataDir = tempDir();
  mkdirSync(join(dataDir, "state", "archive", "2026-11"), { recursive: true });
  for (let file = 0; file < 10_000; file += 1) {
    writeFileSync(join(dataDir, "state", "archive", "2026-11", `${file}.ndjson.gz`), "x");
  }
  const before = process.cpuUsage();
  expect(readDiskUsage(dataDir, NOW)).toMatchObject({ archiveFiles: 10_000, bytes: { responses: 10_000 } });
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1e6).toBeLessThan(2);
});
