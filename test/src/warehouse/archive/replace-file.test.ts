// A file is replaced as a whole, or stays as it was.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { replaceFile, rewriteWith } from "../../../../src/warehouse/archive/replace-file.ts";
import { tempDir } from "../temp-dir.ts";

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
