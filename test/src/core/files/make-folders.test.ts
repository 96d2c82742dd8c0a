import { existsSync, mkdtempSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolders } from "../../../../src/core/files/own-files.ts";

const emptyFolder = () => mkdtempSync(join(tmpdir(), "duckmirror-folders-"));
const failsWith = (code: string) => expect.objectContaining({ code });

test("missing folders are created with the mode, and the first of them is named", () => {
  const dir = emptyFolder();
  expect(makeFolders(join(dir, "a", "b", "c"), 0o700)).toBe(join(dir, "a"));
  for (const path of ["a", "a/b", "a/b/c"]) expect(statSync(join(dir, path)).mode & 0o777).toBe(0o700);
});

test("a folder that is there stays as it is, also behind a link", () => {
  const dir = emptyFolder();
  symlinkSync(dir, `${dir}-link`);
  expect([makeFolders(dir), makeFolders(`${dir}-link`), makeFolders("/")]).toEqual([undefined, undefined, undefined]);
});

test("a file in the way is an error", () => {
  const dir = emptyFolder();
  writeFileSync(join(dir, "file"), "");
  expect(() => makeFolders(join(dir, "file"))).toThrow(failsWith("EEXIST"));
  expect(() => makeFolders(join(dir, "file", "below"))).toThrow(failsWith("ENOTDIR"));
});

test.each(["/proc/x", "/proc/x/y"])("where the system has no place for a folder, it ends: %s", (path) => {
  expect(() => makeFolders(path)).toThrow(failsWith("ENOENT"));
  expect(existsSync(path)).toBe(false);
});
