// Pipes that somebody planted, and holds open without a byte: SIGTERM ends a worker and a command all the same.

import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdirSync, openSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  aSandbox,
  type BuiltRun,
  FAST,
  runBuilt,
  startBuilt,
  startServing,
  syncWell,
  WORKER,
  workerEnv,
} from "../../acceptance/built-cli.ts";
import { tempFolder } from "../../acceptance/temp-folder.ts";
import { forFile } from "../../support/for-file.ts";
import { startRedis } from "../../support/redis.ts";

/** On a busy machine; a process that waits in the system for a pipe never ends. */
const MOST_STOP_MS = 20_000;
const STATE_FILES = ["following.json", "tier.json", "keys.json", "history-id", "looks.ndjson", "closed", "backup.key"];

const sandbox = await aSandbox({ accounts: 3 });
const redis = await forFile(startRedis());

const plantPipe = (path: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { recursive: true, force: true });
  execFileSync("mkfifo", [path]);
  const held = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(held));
};

/** SIGTERM now; how long the process goes on, ms. */
const stopped = async ({ child, ended }: Pick<BuiltRun, "child" | "ended">): Promise<number> => {
  const asked = performance.now();
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), MOST_STOP_MS);
  const { err } = await ended;
  clearTimeout(late);
  expect(child.signalCode, err).not.toBe("SIGKILL");
  return performance.now() - asked;
};

const envOf = (dataDir: string) => workerEnv(sandbox, { REDIS_URL: redis.url }, dataDir);

test.each(["sync", "worker"])("a pipe as duckmirror.yaml refuses %s at once", async (command) => {
  const folder = tempFolder();
  plantPipe(join(folder, "duckmirror.yaml"));
  const { code, err } = await runBuilt([command], envOf(folder), folder);
  expect([code, err]).toEqual([2, expect.stringMatching(/CONFIG_FILE_UNREADABLE.*no regular file/)]);
});

test("SIGTERM ends a worker whose state files have become pipes, and its sync", async () => {
  const dataDir = tempFolder();
  await syncWell(sandbox, dataDir, [], FAST);
  const worker = await startServing(WORKER, envOf(dataDir));
  for (const name of STATE_FILES) plantPipe(join(dataDir, "state", name));
  await runBuilt(["trigger", "--json"], { ...envOf(tempFolder()), DUCKMIRROR_LISTEN: new URL(worker.url).host });
  expect(await stopped(worker)).toBeLessThan(MOST_STOP_MS);
});

test("a worker that begins with such a state ends by itself or by SIGTERM", async () => {
  const dataDir = tempFolder();
  for (const name of STATE_FILES) plantPipe(join(dataDir, "state", name));
  const worker = startBuilt(WORKER, envOf(dataDir));
  await expect.poll(() => worker.out().includes("\n") || worker.child.exitCode !== null).toBe(true);
  expect(await stopped(worker)).toBeLessThan(MOST_STOP_MS);
});

test.each(["following.json", "looks.ndjson"])("SIGTERM ends a sync that meets a pipe as state/%s", async (name) => {
  const dataDir = tempFolder();
  plantPipe(join(dataDir, "state", name));
  const run = startBuilt(["sync", "--verbose"], envOf(dataDir));
  await expect.poll(() => run.err() !== "" || run.child.exitCode !== null).toBe(true);
  expect(await stopped(run)).toBeLessThan(MOST_STOP_MS);
});
