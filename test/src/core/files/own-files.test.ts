// Files and folders that only duckmirror makes: a link or another kind in their place stops it.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  allEntriesOfOwn,
  appendOwn,
  assertOwnFile,
  assertOwnFolder,
  copyOwn,
  createOwn,
  entriesOfOwn,
  listOwn,
  makeFolders,
  makeOwnFolder,
  openOwn,
  readOwn,
  readOwnIfThere,
  readOwnSync,
  readOwnText,
  replaceFile,
  rewriteWith,
  streamOwn,
  writeNewSync,
} from "../../../../src/core/files/own-files.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

// A file is replaced as a whole, or stays as it was.

test("the new content is there, for its owner alone, and nothing else", async () => {
  const dir = tempDir();
  const file = join(dir, "list.json");
  writeFileSync(file, "old");
  await replaceFile(file, "new");
  expect(readFileSync(file, "utf8")).toBe("new");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(dir)).toEqual(["list.json"]);
});

test("a failure while it is written leaves the old content, and no leftover", async () => {
  const dir = tempDir();
  const file = join(dir, "list.json");
  writeFileSync(file, "old");
  const failing = rewriteWith(file, async (fresh) => {
    await fresh.writeFile("ne");
    throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  });
  await expect(failing).rejects.toMatchObject({ code: "DISK_FULL" });
  expect(readFileSync(file, "utf8")).toBe("old");
  expect(readdirSync(dir)).toEqual(["list.json"]);
});

test("what an earlier crash left under the new name is no hindrance, and a link there is not followed", async () => {
  const dir = tempDir();
  const theirs = join(dir, "theirs");
  writeFileSync(theirs, "theirs");
  symlinkSync(theirs, join(dir, "list.json.new"));
  await replaceFile(join(dir, "list.json"), "new");
  expect(readFileSync(theirs, "utf8")).toBe("theirs");
  expect(readFileSync(join(dir, "list.json"), "utf8")).toBe("new");
  mkdirSync(join(dir, "none"));
  await expect(replaceFile(join(dir, "none", "deeper", "x"), "new")).rejects.toThrow();
  expect(existsSync(join(dir, "none", "deeper"))).toBe(false);
});

test("a folder that is there stays as it is, also behind a link; a file in the way is an error", () => {
  const dir = tempDir();
  symlinkSync(dir, join(dir, "link"));
  writeFileSync(join(dir, "file"), "");
  expect([makeFolders(dir), makeFolders(join(dir, "link")), makeFolders("/")]).toEqual(Array(3).fill(undefined));
  expect(makeFolders(join(dir, "a", "b"), 0o700)).toBe(join(dir, "a"));
  expect(() => makeFolders(join(dir, "file", "below"))).toThrow(expect.objectContaining({ code: "ENOTDIR" }));
});

test.each(["/proc/x", "/proc/x/y"])("where the system has no place for a folder, it ends: %s", (path) => {
  expect(() => makeFolders(path)).toThrow(expect.objectContaining({ code: "ENOENT" }));
});

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

const OPENERS = {
  openOwn,
  readOwn,
  readOwnText,
  readOwnIfThere,
  readOwnSync: async (path: string) => readOwnSync(path),
  streamOwn,
  appendOwn: async (path: string) => appendOwn(path, "x"),
  copyOwn: async (path: string) => copyOwn(path, join(tempDir(), "copy")),
};
const named = Object.entries(OPENERS).map(([name, opener]) => ({ name, opener }));

test.each(named)("$name follows no link, waits for no pipe, and opens no device or folder", async ({ opener }) => {
  const dir = tempDir();
  const theirs = join(dir, "theirs");
  writeFileSync(theirs, "theirs");
  symlinkSync(theirs, join(dir, "link"));
  symlinkSync("/dev/zero", join(dir, "zero"));
  execFileSync("mkfifo", [join(dir, "pipe")]);
  for (const name of ["link", "zero"]) await expect(opener(join(dir, name))).rejects.toThrow(refused(/is a link/));
  await expect(opener(join(dir, "pipe"))).rejects.toThrow(refused(/pipe is no regular file; remove it/));
  await expect(opener("/dev/zero")).rejects.toThrow(refused(/no regular file/));
  expect(readFileSync(theirs, "utf8")).toBe("theirs");
});

test.each(named)("$name refuses a file below a link in state/", async ({ opener }) => {
  const dir = tempDir();
  const elsewhere = tempDir();
  mkdirSync(join(elsewhere, "rule"));
  writeFileSync(join(elsewhere, "rule", "position.json"), "theirs");
  mkdirSync(join(dir, "state"));
  symlinkSync(elsewhere, join(dir, "state", "alerts"));
  await expect(opener(join(dir, "state", "alerts", "rule", "position.json"))).rejects.toThrow(
    refused(/alerts is a link; remove it/),
  );
});

test("nothing is created or listed below a link in state/", async () => {
  const dir = tempDir();
  const elsewhere = tempDir();
  mkdirSync(join(dir, "state"));
  symlinkSync(elsewhere, join(dir, "state", "alerts"));
  const rule = join(dir, "state", "alerts", "rule");
  expect(() => makeOwnFolder(rule)).toThrow(refused(/alerts is a link/));
  expect(() => writeNewSync(rule, "x")).toThrow(refused(/alerts is a link/));
  expect(() => createOwn(rule)).toThrow(refused(/alerts is a link/));
  expect(() => entriesOfOwn(join(dir, "state", "alerts"))).toThrow(refused(/alerts is a link/));
  expect(() => allEntriesOfOwn(join(dir, "state", "alerts"))).toThrow(refused(/alerts is a link/));
  await expect(listOwn(join(dir, "state", "alerts"))).rejects.toThrow(refused(/alerts is a link/));
  expect(existsSync(join(elsewhere, "rule"))).toBe(false);
});

test("a data directory may itself be a link", async () => {
  const dir = tempDir();
  mkdirSync(join(dir, "real", "state"), { recursive: true });
  symlinkSync(join(dir, "real"), join(dir, "data"));
  appendOwn(join(dir, "data", "state", "file"), "a");
  appendOwn(join(dir, "data", "state", "file"), "b");
  expect(await readOwnText(join(dir, "data", "state", "file"))).toBe("ab");
  expect(await readOwnIfThere(join(dir, "data", "state", "none"))).toBeNull();
});
