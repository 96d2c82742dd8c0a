// A data directory before it is written: whether it can be, under which name, and by one writer, in this process and, by the
// kernel's lock, in all (kills: warehouse/crash.long.test.ts).
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { assertWritable, enterDataDir, takeWriterLock } from "../../../../src/warehouse/file/working-file.ts";
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

test("a question mark in the path is refused by its name", async () => {
  const folder = join(tempDir(), "who?", "data");
  await expect(enterDataDir(folder)).rejects.toMatchObject({ code: "DATA_DIR_NAME", exitCode: 2 });
  expect(existsSync(folder)).toBe(false);
});

test("a second writer is refused until the first one is done, by whatever path it comes", async () => {
  const dir = tempDir();
  const linked = `${dir}-link`;
  symlinkSync(dir, linked);
  const lock = await takeWriterLock(join(dir, "writer.lock"), dir);
  for (const path of [dir, linked])
    await expect(takeWriterLock(join(path, "writer.lock"), path)).rejects.toMatchObject({ code: "WRITER_BUSY" });
  await lock.release();
  await (await takeWriterLock(join(linked, "writer.lock"), linked)).release();
});

test("a lock that cannot be taken is not held", async () => {
  const dir = tempDir();
  // A folder is no file that DuckDB opens.
  await expect(takeWriterLock(dir, dir)).rejects.not.toMatchObject({ code: "WRITER_BUSY" });
  await (await takeWriterLock(join(dir, "..", `${dir.split("/").at(-1)}.lock`), dir)).release();
});

test("a lock file that is damaged is named, since it holds nothing that a replay could bring back", async () => {
  const dir = tempDir();
  mkdirSync(join(dir, "state"));
  writeFileSync(join(dir, "state", "writer.lock"), "4711");
  await expect(enterDataDir(dir)).rejects.toMatchObject({ code: "LOCK_DAMAGED" });
});
