// Files and folders that only duckmirror makes: a link or another kind in their place stops it.
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { APPENDING, assertOwnFile, assertOwnFolder, makeOwnFolder, READING_OWN } from "../../../src/core/own-files.ts";
import { tempDir } from "../warehouse/temp-dir.ts";

const refused = (detail: RegExp) =>
  expect.objectContaining({ code: "DATA_DIR_UNWRITABLE", message: expect.stringMatching(detail) });

test("nothing, or something of its own kind, is fine", () => {
  const dir = tempDir();
  assertOwnFile(join(dir, "none"));
  assertOwnFolder(join(dir, "none"));
  writeFileSync(join(dir, "file"), "");
  assertOwnFile(join(dir, "file"));
  makeOwnFolder(join(dir, "a", "b"));
  makeOwnFolder(join(dir, "a", "b"));
  expect(statSync(join(dir, "a", "b")).mode & 0o777).toBe(0o700);
});

test("another kind, or a link, is named", () => {
  const dir = tempDir();
  mkdirSync(join(dir, "folder"));
  writeFileSync(join(dir, "file"), "");
  symlinkSync(join(dir, "folder"), join(dir, "link"));
  expect(() => assertOwnFile(join(dir, "folder"))).toThrow(refused(/folder is no regular file; remove it/));
  expect(() => assertOwnFolder(join(dir, "file"))).toThrow(refused(/file is no folder; remove it/));
  expect(() => makeOwnFolder(join(dir, "link"))).toThrow(refused(/link is a link; remove it/));
});

test("a link is neither appended to nor read", () => {
  const dir = tempDir();
  const theirs = join(dir, "theirs");
  symlinkSync(theirs, join(dir, "link"));
  expect(() => openSync(join(dir, "link"), APPENDING, 0o600)).toThrow();
  expect(existsSync(theirs)).toBe(false);
  writeFileSync(theirs, "x");
  expect(() => openSync(join(dir, "link"), READING_OWN)).toThrow();
  closeSync(openSync(theirs, APPENDING, 0o600));
  expect(readFileSync(theirs, "utf8")).toBe("x");
});
