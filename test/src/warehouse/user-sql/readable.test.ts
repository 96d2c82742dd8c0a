// Which snapshots a reader opens.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { openForParts } from "../../../../src/warehouse/export/write-parts.ts";
import { writeBackup } from "../../../../src/warehouse/file/baseline/backup.ts";
import { openWarehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { readRun } from "../../../../src/warehouse/read/read-run.ts";
import { readStatus } from "../../../../src/warehouse/read/read-status.ts";
import { assertReadable } from "../../../../src/warehouse/user-sql/trusted-files.ts";
import { tempDir } from "../temp-dir.ts";

const refused = (code: string) => expect.objectContaining({ code });

test("a file without a WAL; nothing, or a folder, is no snapshot", () => {
  const dir = tempDir();
  const snapshot = join(dir, "warehouse.duckdb");
  expect(() => assertReadable(snapshot)).toThrow(refused("SNAPSHOT_MISSING"));
  writeFileSync(snapshot, "");
  assertReadable(snapshot);
  mkdirSync(join(dir, "folder"));
  expect(() => assertReadable(join(dir, "folder"))).toThrow(refused("SNAPSHOT_MISSING"));
});

test.each([
  ["warehouse.duckdb", "warehouse.duckdb is a folder"],
  ["state/working.duckdb", "working.duckdb is no regular file"],
])("the writer names a folder in place of %s", async (name, sentence) => {
  const dataDir = tempDir();
  mkdirSync(join(dataDir, name), { recursive: true });
  await expect(openWarehouse({ dataDir, clock: systemClock })).rejects.toMatchObject({
    code: "DATA_DIR_UNWRITABLE",
    message: expect.stringContaining(sentence),
  });
});

test("with a WAL it would show what nobody published", () => {
  const snapshot = join(tempDir(), "warehouse.duckdb");
  writeFileSync(snapshot, "");
  writeFileSync(`${snapshot}.wal`, "");
  expect(() => assertReadable(snapshot)).toThrow(refused("SNAPSHOT_DAMAGED"));
});

test("an empty file is damaged for every reader, and never the working file", async () => {
  const dir = tempDir();
  const snapshot = join(dir, "warehouse.duckdb");
  writeFileSync(snapshot, "");
  const damaged = refused("SNAPSHOT_DAMAGED");
  await expect(readStatus(snapshot, { runs: 1 })).rejects.toEqual(damaged);
  await expect(readRun(snapshot, "run")).rejects.toEqual(damaged);
  await expect(openForParts(snapshot, dir, { spill: "spill" })).rejects.toEqual(damaged);
  const target = join(dir, "backup");
  const backup = {
    snapshot,
    state: dir,
    target,
    force: false,
    version: "1.0.0",
    keyOf: async () => "00".repeat(32),
    now: 0,
  };
  await expect(writeBackup(backup)).rejects.toEqual(damaged);
});
