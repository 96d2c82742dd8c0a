// Runs the built program as a child process, with nothing in its environment but what the test gives it.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { afterEach, expect, inject } from "vitest";
import { z } from "zod";
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

const readySchema = z.object({ url: z.string() });

/** Starts a server or worker, which prints JSON; resolves with its address once it is ready. */
export const startServing = async (...call: Parameters<typeof startBuilt>) => {
  const run = startBuilt(...call);
  await new Promise<void>((resolve, reject) => {
    run.child.stdout.on("data", () => run.out().includes("\n") && resolve());
    void run.ended.then(({ err }) => reject(new Error(err)));
  });
  const { url } = readySchema.parse(JSON.parse(run.out()));
  /** SIGTERM; fails unless it ends well. `ms`: how long it takes. */
  const stop = async () => {
    const asked = performance.now();
    run.child.kill("SIGTERM");
    const ended = await run.ended;
    expect(ended.code, ended.err).toBe(0);
    return { ...ended, ms: performance.now() - asked };
  };
  return { ...run, url, stop };
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
