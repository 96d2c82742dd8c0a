// Differences between operating systems, each of which is passed in.
import { constants, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { rename } from "node:fs/promises";
import { platform } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemOf } from "../../../src/core/system.ts";
import { aFolder } from "../../support/cli.ts";

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
  await systemOf("win32", effects).moveOver(from, to);
  expect(readFileSync(to, "utf8")).toBe("new");
  expect(waits).toHaveLength(3);
});

test("Windows: a reader that never closes it is waited for 10 s; both files are left as they are", async () => {
  const { from, to } = twoFiles();
  const { effects, waits } = heldOpen(100, "EBUSY");
  await expect(systemOf("win32", effects).moveOver(from, to)).rejects.toMatchObject({ code: "EBUSY" });
  expect(waits.reduce((sum, ms) => sum + ms, 0)).toBe(10_000);
  expect([readFileSync(from, "utf8"), readFileSync(to, "utf8")]).toEqual(["new", "old"]);
});

test.each(["linux", "darwin"] as const)(
  "%s: a move is tried once, because readers keep the old file",
  async (system) => {
    const { from, to } = twoFiles();
    const { effects, waits } = heldOpen(1);
    await expect(systemOf(system, effects).moveOver(from, to)).rejects.toMatchObject({ code: "EPERM" });
    expect(waits).toEqual([]);
  },
);

test("any other failure of a move is no reason to wait", async () => {
  const { from, to } = twoFiles();
  const { effects, waits } = heldOpen(1, "ENOSPC");
  await expect(systemOf("win32", effects).moveOver(from, to)).rejects.toMatchObject({ code: "ENOSPC" });
  expect(waits).toEqual([]);
});

test("Windows flushes files, which it opens for writing, and leaves folders, which it cannot open", async () => {
  const { to } = twoFiles();
  const folder = join(aFolder(), "folder");
  mkdirSync(folder);
  const { flushToDisk } = systemOf("win32");
  await flushToDisk(to);
  await flushToDisk(folder);
  await expect(flushToDisk(join(folder, "missing"))).rejects.toMatchObject({ code: "ENOENT" });
  // Whatever this system is, a folder and a file are flushed.
  for (const path of [folder, to]) await systemOf(platform()).flushToDisk(path);
});

test("a file that another process makes or removes is taken; Windows says of a removed one that it is in use", () => {
  const taken = (platform: NodeJS.Platform) =>
    ["EEXIST", "EPERM", "EBUSY", "ENOENT"].filter((code) => systemOf(platform).isTaken(systemError(code)));
  expect(taken("linux")).toEqual(["EEXIST"]);
  expect(taken("darwin")).toEqual(["EEXIST"]);
  expect(taken("win32")).toEqual(["EEXIST", "EPERM", "EBUSY"]);
});

test("a path below the home folder is found as the system names that folder", () => {
  const env = { HOME: "/home/ana", USERPROFILE: "C:\\Users\\ana" };
  const below = (platform: NodeJS.Platform, path: string) => systemOf(platform).inHome(path, env);
  expect(below("darwin", "~/m")).toBe("/home/ana/m");
  expect(below("linux", "~\\m")).toBe("~\\m");
  expect(below("win32", "~\\m")).toBe("C:\\Users\\ana\\m");
  expect(below("win32", "~/m")).toBe("C:\\Users\\ana\\m");
  for (const platform of ["linux", "win32"] as const) {
    expect(below(platform, "~bob/m")).toBe("~bob/m");
    expect(systemOf(platform).inHome("~/m", {})).toBe("~/m");
  }
});

test("signals, sessions, links and the fence are those of the system", () => {
  expect(systemOf("linux")).toMatchObject({
    stopSignals: ["SIGINT", "SIGTERM", "SIGHUP"],
    hasSessions: true,
    hasFence: true,
  });
  expect(systemOf("darwin")).toMatchObject({
    stopSignals: ["SIGINT", "SIGTERM", "SIGHUP"],
    hasSessions: true,
    hasFence: false,
  });
  expect(systemOf("win32")).toMatchObject({
    stopSignals: ["SIGINT", "SIGBREAK", "SIGHUP"],
    hasSessions: false,
    hasFence: false,
  });
  expect(systemOf("win32").flags).toEqual({ noWait: 0, noLink: 0 });
  expect(systemOf("linux").flags).toEqual({ noWait: constants.O_NONBLOCK, noLink: constants.O_NOFOLLOW });
});
