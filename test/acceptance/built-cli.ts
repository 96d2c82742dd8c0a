// Runs the built program as a child process, with nothing in its environment but what the test gives it.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { afterEach, expect, inject } from "vitest";
import { type SyncReport, syncReportSchema } from "../../src/core/report/sync-report.ts";
import { type ChildOutput, readOutput } from "../support/child-output.ts";

type Child = ChildProcessByStdio<null, Readable, Readable>;

export interface BuiltRun extends ChildOutput {
  readonly child: Child;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
}

const running = new Set<Child>();
afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
});

/** Starts `duckmirror <argv>`. `main`: of another build. */
export const startBuilt = (
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = "/",
  main = inject("builtCli"),
): BuiltRun => {
  const child = spawn(process.execPath, [main, ...argv], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  const output = readOutput(child);
  const ended = output.ended.finally(() => running.delete(child));
  return {
    ...output,
    child,
    ended,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
};

/** Runs `duckmirror <argv>` to its end. */
export const runBuilt = (argv: readonly string[], env: Readonly<Record<string, string>>, cwd = "/") =>
  startBuilt(argv, env, cwd).ended;

/** What a user sets to sync from a service into a folder. */
export const syncEnv = (service: { readonly url: string; readonly token: string }, dataDir: string) => ({
  DUCKMIRROR_BASE_URL: service.url,
  DUCKMIRROR_TOKEN: service.token,
  DUCKMIRROR_DATA_DIR: dataDir,
});

/** Runs `sync --json` to a good end. */
export const syncWell = async (
  service: { readonly url: string; readonly token: string },
  dataDir: string,
  argv: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<SyncReport> => {
  const run = await runBuilt(["sync", "--json", ...argv], { ...syncEnv(service, dataDir), ...env });
  expect(run.code, run.err).toBe(0);
  return syncReportSchema.parse(JSON.parse(run.out));
};
