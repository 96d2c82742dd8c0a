// Hashes of statements: equal for equal texts in one data directory, and of no use in another.
import { mkdirSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sqlHash } from "../../../../src/warehouse/audit/sql-hash.ts";
import { trailDir } from "../../../../src/warehouse/audit/trail-files.ts";
import { tempDir } from "../temp-dir.ts";

test("the key is made once, for its owner alone, and nothing is left beside it", () => {
  const dir = trailDir(tempDir());
  const hash = sqlHash(dir, "SELECT 1");
  expect(hash).toMatch(/^[0-9a-f]{64}$/);
  expect(sqlHash(dir, "SELECT 1")).toBe(hash);
  expect(sqlHash(dir, "SELECT 2")).not.toBe(hash);
  expect(sqlHash(trailDir(tempDir()), "SELECT 1")).not.toBe(hash);
  expect(readdirSync(dir)).toEqual(["key"]);
  expect(statSync(join(dir, "key")).mode & 0o777).toBe(0o600);
});

test("a link in place of the key is refused: its owner would know the key", () => {
  const [dir, theirs] = [trailDir(tempDir()), trailDir(tempDir())];
  sqlHash(theirs, "SELECT 1");
  mkdirSync(dir, { recursive: true });
  symlinkSync(join(theirs, "key"), join(dir, "key"));
  expect(() => sqlHash(dir, "SELECT 1")).toThrow(expect.objectContaining({ code: "DATA_DIR_UNWRITABLE" }));
});
