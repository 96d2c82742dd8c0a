// Runs the built program as a child process, with nothing in its environment but what the test gives it, beside a sandbox.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { afterEach, expect, inject } from "vitest";
import { z } from "zod";
import { type SyncReport, syncReportSchema } from "../../src/core/report/sync-report.ts";
import type { SandboxOptions } from "../../src/sandbox/options.ts";
import { startSandbox } from "../../src/sandbox/sandbox.ts";
import { type ChildOutput, readOutput } from "../support/child-output.ts";
import { forFile } from "../support/for-file.ts";
import { tempFolder } from "./temp-folder.ts";

/** A service for a test file, with pages of 50 rows, whose rate and credits hold nobody up. */
export const aSandbox = (options: SandboxOptions) => forFile(startSandbox({ ...AMPLE, ...options }));
const AMPLE = { plan: "enterprise", maxPerPage: 50, requestsPerMinute: 1_000_000, threads: 1 } as const;
/** Beside such a service no first answer has to show the rate. */
export const FAST = { DUCKMIRROR_RATE_LIMIT: "100000" };

export type Env = Readonly<Record<string, string>>;
interface Service {
  readonly url: string;
  readonly token: string;
}

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
export const startBuilt = (argv: readonly string[], env: Env, cwd = "/", main = inject("builtCli")): BuiltRun => {
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
export const runBuilt = (argv: readonly string[], env: Env, cwd = "/") => startBuilt(argv, env, cwd).ended;

/** What a user sets to sync from a service into a folder. */
export const syncEnv = (service: Service, dataDir: string) => ({
  DUCKMIRROR_BASE_URL: service.url,
  DUCKMIRROR_TOKEN: service.token,
  DUCKMIRROR_DATA_DIR: dataDir,
});

/** The report of a run that ended well. */
const reportOf = async (run: BuiltRun["ended"], more: () => string = () => ""): Promise<SyncReport> => {
  const { code, out, err } = await run;
  expect(code, `${err}\n${more()}`).toBe(0);
  return syncReportSchema.parse(JSON.parse(out));
};

/** Runs `sync --json` to a good end. */
export const syncWell = (
  service: Service,
  dataDir: string,
  argv: readonly string[] = [],
  env: Env = {},
): Promise<SyncReport> => reportOf(runBuilt(["sync", "--json", ...argv], { ...syncEnv(service, dataDir), ...env }));

/** The environment of a worker that does what it is asked for, and nothing else. */
export const workerEnv = (service: Service, more: Env = {}, dataDir = tempFolder()) => ({
  ...syncEnv(service, dataDir),
  ...FAST,
  DUCKMIRROR_SCHEDULE: "off",
  DUCKMIRROR_EXPORT_FORMATS: "none",
  ...more,
});

export const WORKER = ["worker", "--listen", "127.0.0.1:0", "--json"] as const;

/** Runs `trigger --wait` to a good end. `more`: what a failure shows besides. */
export const triggerWell = async (env: Env, argv: readonly string[] = [], more?: () => string): Promise<SyncReport> => {
  const report = await reportOf(runBuilt(["trigger", ...argv, "--wait", "--json"], env), more);
  expect(report.status).toBe("done");
  return report;
};
