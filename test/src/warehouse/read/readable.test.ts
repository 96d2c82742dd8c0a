// Which snapshots a reader opens.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { assertReadable } from "../../../../src/warehouse/read/readable.ts";
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

test("with a WAL it would show what nobody published", () => {
  const snapshot = join(tempDir(), "warehouse.duckdb");
  writeFileSync(snapshot, "");
  writeFileSync(`${snapshot}.wal`, "");
  expect(() => assertReadable(snapshot)).toThrow(refused("SNAPSHOT_DAMAGED"));
});
