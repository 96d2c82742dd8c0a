// A run of tests that is interrupted leaves no process and no folder behind, whatever its tests had started.
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { RUN_FOLDER } from "../setup/one-folder.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const runner = join(root, "node_modules/vitest/vitest.mjs");
/** Its tests start Redis, workers and services. */
const FILE = "test/src/queue/worker/redis-worker.test.ts";

let run: ChildProcess | null = null;
afterEach(() => {
  if (run?.pid !== undefined && run.exitCode === null && run.signalCode === null) process.kill(-run.pid, "SIGKILL");
});

/** Command lines of the processes that hold `mark` in their environment. */
const marked = (mark: string): readonly string[] => {
  const read = (pid: string, name: string) => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, "utf8");
    } catch {
      return "";
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && read(name, "environ").includes(mark))
    .map((pid) => read(pid, "cmdline").replaceAll("\0", " "));
};

const begin = async (mark: string, tmp: string): Promise<ChildProcess> => {
  const { VITEST: _, ...env } = process.env;
  run = spawn(process.execPath, [runner, "run", FILE], {
    cwd: root,
    env: { ...env, TMPDIR: tmp, DUCKMIRROR_MARK: mark },
    stdio: "ignore",
    // A group of its own, as a terminal gives it.
    detached: true,
  });
  await expect.poll(() => marked(mark).some((line) => line.includes("redis-server"))).toBe(true);
  return run;
};

const foldersOf = ({ pid }: ChildProcess, tmp: string): readonly string[] =>
  [tmp, "/dev/shm"].map((parent) => join(parent, `${RUN_FOLDER}${pid}`)).filter((folder) => existsSync(folder));

test("Ctrl-C ends every process of the run, and its folder goes", async () => {
  const [mark, tmp] = [randomUUID(), tempFolder()];
  const started = await begin(mark, tmp);
  expect(foldersOf(started, tmp)).toHaveLength(1);
  process.kill(-(started.pid ?? 0), "SIGINT");
  await once(started, "exit");
  await expect.poll(() => marked(mark)).toEqual([]);
  expect(foldersOf(started, tmp)).toEqual([]);
});

test("a killed runner leaves no process behind", async () => {
  const [mark, tmp] = [randomUUID(), tempFolder()];
  const started = await begin(mark, tmp);
  started.kill("SIGKILL");
  await once(started, "exit");
  await expect.poll(() => marked(mark)).toEqual([]);
});
