// What differs between systems in handling files, with each system's behaviour injected.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fileSystemOf } from "../../../../src/core/files/file-system.ts";
import { aFolder } from "../../../support/cli.ts";

const systemError = (code: string) => Object.assign(new Error(`${code}: operation not permitted`), { code });

/** A rename that fails `times` as Windows does while a reader has the file open. */
const heldOpen = (times: number, code = "EPERM") => {
  const waits: number[] = [];
  let left = times;
  const effects = {
    rename: async (from: Parameters<typeof rename>[0], to: Parameters<typeof rename>[1]) => {
      if (left-- > 0) throw systemError(code);
      await rename(from, to);
    },
    sleep: async (ms: number) => void waits.push(ms),
  };
  return { effects, waits };
};

const twoFiles = () => {
  const folder = aFolder();
  const [from, to] = [join(folder, "new"), join(folder, "old")];
  writeFileSync(from, "new");
  writeFileSync(to, "old");
  return { from, to };
};

test("Windows: a file is moved over one that a reader has open as soon as the reader closes it", async () => {
  const { from, to } = twoFiles();
  const { effects, waits } = heldOpen(3);
  await fileSystemOf("win32", effects).moveOver(from, to);
  expect(readFileSync(to, "utf8")).toBe("new");
  expect(waits).toHaveLength(3);
});

test("Windows: a reader that never closes it is waited for 10 s; both files are left as they are", async () => {
  const { from, to } = twoFiles();
  const { effects, waits } = heldOpen(100, "EBUSY");
  await expect(fileSystemOf("win32", effects).moveOver(from, to)).rejects.toMatchObject({ code: "EBUSY" });
  expect(waits.reduce((sum, ms) => sum + ms, 0)).toBe(10_000);
  expect([readFileSync(from, "utf8"), readFileSync(to, "utf8")]).toEqual(["new", "old"]);
});

test.each(["linux", "darwin"] as const)(
  "%s: a move is tried once, because readers keep the old file",
  async (system) => {
    const { from, to } = twoFiles();
    const { effects, waits } = heldOpen(1);
    await expect(fileSystemOf(system, effects).moveOver(from, to)).rejects.toMatchObject({ code: "EPERM" });
    expect(waits).toEqual([]);
  },
);

test("any other failure of a move is no reason to wait", async () => {
  const { from, to } = twoFiles();
  const { effects, waits } = heldOpen(1, "ENOSPC");
  await expect(fileSystemOf("win32", effects).moveOver(from, to)).rejects.toMatchObject({ code: "ENOSPC" });
  expect(waits).toEqual([]);
});

test("Windows flushes files, which it opens for writing, and leaves folders, which it cannot open", async () => {
  const { to } = twoFiles();
  const folder = join(aFolder(), "folder");
  mkdirSync(folder);
  const { flushToDisk } = fileSystemOf("win32");
  await flushToDisk(to);
  await flushToDisk(folder);
  await expect(flushToDisk(join(folder, "missing"))).rejects.toMatchObject({ code: "ENOENT" });
  // Elsewhere a folder is flushed, too.
  await fileSystemOf("linux").flushToDisk(folder);
});
