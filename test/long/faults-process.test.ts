// What the machine does to the program: signals at bad moments, several starts at once, a disk that fills up, a folder
// that cannot be written. After each the snapshot opens and the next sync heals the rest. Shows P29 and P35.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, inject, test } from "vitest";
import { startFaultProxy } from "../../src/sandbox/faults/proxy.ts";
import { runQuery } from "../../src/warehouse/read/query.ts";
import { aSandbox, type Env, runBuilt, startBuilt, syncEnv, syncWell } from "../acceptance/built-cli.ts";
import { differences } from "../acceptance/compare.ts";
import { readService } from "../acceptance/service-reader.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { forFile } from "../support/for-file.ts";
import { lockableFolder, type SmallRoom, smallRoom } from "./small-room.ts";

const sandbox = await aSandbox({ seed: 61, accounts: 8 });
const service = await readService(sandbox);
const proxy = await forFile(startFaultProxy({ upstream: sandbox.url, faults: {} }));
beforeEach(() => proxy.setFaults({}));

const throughProxy = { url: proxy.url, token: sandbox.token };
const snapshotOf = (dataDir: string) => join(dataDir, "warehouse.duckdb");
const isWhole = async (dataDir: string) => expect(await differences(snapshotOf(dataDir), service)).toEqual([]);
/** Without faults the next sync makes the mirror whole. */
const heals = async (dataDir: string) => {
  proxy.setFaults({});
  await syncWell(throughProxy, dataDir);
  await isWhole(dataDir);
};

/** Resolves when `count` more requests came by. */
const requestsCameBy = async (count: number): Promise<void> => {
  const until = proxy.passed.length + count;
  while (proxy.passed.length < until) await new Promise((resolve) => setImmediate(resolve));
};

describe("a signal", () => {
  test("SIGTERM while every request has to wait ends the run at once, committed and resumable", async () => {
    const dataDir = tempFolder();
    proxy.setFaults({ rules: [{ fault: { kind: "status", status: 429, retry_after: 20 }, after: 10 }] });
    const run = startBuilt(["sync", "--json"], syncEnv(throughProxy, dataDir));
    // One refusal stops all, and may be the last request.
    await requestsCameBy(10);
    const signalledAt = Date.now();
    run.child.kill("SIGTERM");
    const { code, err } = await run.ended;
    expect(code, err).toBe(130);
    expect(Date.now() - signalledAt).toBeLessThan(15_000);
    const { rows } = await runQuery({ snapshot: snapshotOf(dataDir), sql: "SELECT count(*) > 0 FROM accounts" });
    expect(rows).toEqual([[true]]);
    await heals(dataDir);
  });

  test("a wait of hours beside credits that are left ends the run with what failed; without it, it is healed", async () => {
    const dataDir = tempFolder();
    proxy.setFaults({ rules: [{ fault: { kind: "status", status: 429, retry_after: 10_800 }, after: 10 }] });
    const { code, err } = await runBuilt(["sync", "--json"], syncEnv(throughProxy, dataDir));
    expect(code, err).toBe(5);
    await heals(dataDir);
  });

  test("a second SIGINT does not wait for an answer that never comes", async () => {
    const dataDir = tempFolder();
    proxy.setFaults({ rules: [{ fault: "hang-headers", after: 9 }] });
    const run = startBuilt(["sync", "--json"], syncEnv(throughProxy, dataDir));
    await requestsCameBy(10);
    run.child.kill("SIGINT");
    // The first one was taken in when progress says so; the second must not come before it.
    while (!/interrupt/i.test(run.err())) {
      if (run.child.exitCode !== null) break;
      await new Promise((resolve) => setImmediate(resolve));
      run.child.kill("SIGINT");
    }
    expect((await run.ended).code).toBe(130);
    await heals(dataDir);
  });
});

test("of five syncs started at once one does the work, the others exit with 6, and nothing is paid twice", async () => {
  const dataDir = tempFolder();
  const before = proxy.passed.length;
  const runs = await Promise.all(
    Array.from({ length: 5 }, () => runBuilt(["sync", "-q"], syncEnv(throughProxy, dataDir))),
  );
  expect(runs.map(({ code }) => code).sort()).toEqual([0, 6, 6, 6, 6]);
  for (const { code, err } of runs) if (code === 6) expect(err).toContain("error WRITER_BUSY:");
  const urls = proxy.passed.slice(before).map(({ url }) => url);
  expect(new Set(urls).size).toBe(urls.length);
  await isWhole(dataDir);
});

/** Runs the built program where there is little room. */
const runIn = async (room: SmallRoom, argv: readonly string[], env: Env) => {
  const [command, args] = room.bounded(process.execPath, [inject("builtCli"), ...argv]);
  const child = spawn(command, args, {
    cwd: "/",
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let err = "";
  child.stderr.on("data", (chunk) => {
    err += String(chunk);
  });
  await once(child, "close");
  return { code: child.exitCode, err };
};

test.each([4, 18])(
  "a disk that is full at %i MiB is named; with room the next sync pays nothing twice",
  async (mebibytes) => {
    const room = smallRoom(mebibytes);
    const dataDir = join(room.dir, "data");
    const before = proxy.passed.length;
    const { code, err } = await runIn(room, ["sync", "-q"], syncEnv(throughProxy, dataDir));
    expect([room.how, code], err).toEqual([room.how, 1]);
    expect(err).toContain("error DISK_FULL:");
    // A snapshot is whole or not there.
    if (existsSync(snapshotOf(dataDir))) await runQuery({ snapshot: snapshotOf(dataDir), sql: "FROM accounts" });
    room.enlarge();
    expect(await runIn(room, ["sync", "-q"], syncEnv(throughProxy, dataDir))).toMatchObject({ code: 0 });
    await isWhole(dataDir);
    const paid = proxy.passed
      .slice(before)
      .filter(({ url }) => !/^\/v1\/(usage|(accounts|contacts|signals)\?page=1&)/.test(url));
    const urls = paid.map(({ url }) => url);
    expect(urls.filter((url, index) => urls.indexOf(url) !== index)).toEqual([]);
  },
);

test("a folder that became read-only refuses a sync by name, still answers queries, and goes on when it can be written", async () => {
  const { dataDir, lock, unlock } = lockableFolder();
  await syncWell(throughProxy, dataDir, ["accounts"]);
  lock();
  try {
    const refused = await runBuilt(["sync", "-q"], syncEnv(throughProxy, dataDir));
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("error DATA_DIR_UNWRITABLE:") });
    const query = ["query", "--format", "csv", "select count(*) from accounts"];
    expect(await runBuilt(query, { DUCKMIRROR_DATA_DIR: dataDir })).toMatchObject({
      code: 0,
      out: expect.stringContaining("8"),
    });
  } finally {
    unlock();
  }
  await heals(dataDir);
});
