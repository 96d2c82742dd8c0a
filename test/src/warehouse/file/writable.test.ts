// Whether a data directory can be written, before anything is written.
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { assertWritable } from "../../../../src/warehouse/file/working-file.ts";
import { tempDir } from "../temp-dir.ts";

const refused = expect.objectContaining({ code: "DATA_DIR_UNWRITABLE" });

test("a folder that can be made is fine, and is not made", () => {
  const dir = tempDir();
  assertWritable(join(dir, "a", "b"));
  assertWritable(dir);
  expect(readdirSync(dir)).toEqual([]);
});

test("a file in its place, or above it, is named", () => {
  const dir = tempDir();
  writeFileSync(join(dir, "file"), "");
  expect(() => assertWritable(join(dir, "file"))).toThrow(refused);
  expect(() => assertWritable(join(dir, "file", "below"))).toThrow(refused);
});

test("a link in place of a folder that only duckmirror makes is refused", () => {
  const dir = tempDir();
  mkdirSync(join(dir, "elsewhere"));
  symlinkSync(join(dir, "elsewhere"), join(dir, "state"));
  expect(() => assertWritable(dir)).toThrow(refused);
});
