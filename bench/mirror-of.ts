// A mirror of a sandbox for benchmarks: the real job over real sockets into a temporary directory.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SyncRequest, syncJob } from "../jobs/sync.ts";
import { vocabulary } from "../src/catalog/field-rules.ts";
import { systemClock } from "../src/core/clock.ts";
import { resolveConfig } from "../src/core/config/config.ts";
import type { ProgressSink } from "../src/core/report/sync-progress.ts";
import type { SyncReport } from "../src/core/report/sync-report.ts";
import { Secret } from "../src/core/secret.ts";
import type { SandboxOptions } from "../src/sandbox/options.ts";
import { startSandbox } from "../src/sandbox/sandbox.ts";
import { runQuery } from "../src/warehouse/read/query.ts";

export interface BenchMirror {
  readonly sandbox: Awaited<ReturnType<typeof startSandbox>>;
  readonly dataDir: string;
  sync(
    request?: Partial<SyncRequest>,
    env?: Readonly<Record<string, string>>,
    emit?: ProgressSink,
  ): Promise<SyncReport>;
  /** The numbers of the first row of a query on the snapshot. */
  numbers(sql: string): Promise<readonly number[]>;
  close(): Promise<void>;
}

/** Starts a sandbox and a mirror of it. Rates beyond any plan unless the options say otherwise. */
export const startBenchMirror = async (options: SandboxOptions): Promise<BenchMirror> => {
  const sandbox = await startSandbox({ plan: "enterprise", requestsPerMinute: 1_000_000, ...options });
  const dataDir = await mkdtemp(join(tmpdir(), "duckmirror-bench-"));
  return {
    sandbox,
    dataDir,
    sync: async (request = {}, env = {}, emit = () => undefined) => {
      const config = resolveConfig({
        flags: {},
        env: {
          DUCKMIRROR_BASE_URL: sandbox.url,
          DUCKMIRROR_TOKEN: sandbox.token,
          DUCKMIRROR_DATA_DIR: dataDir,
          DUCKMIRROR_RATE_LIMIT: "1000000",
          ...env,
        },
        file: null,
        cwd: dataDir,
        vocabulary: vocabulary(),
      });
      const never = new AbortController().signal;
      const { report, error } = await syncJob(config, request, {
        clock: systemClock,
        random: Math.random,
        emit,
        signal: never,
        hardSignal: never,
        version: "bench",
        token: new Secret(sandbox.token),
      });
      if (error !== null && error.exitCode !== 4) throw error;
      return report;
    },
    numbers: async (sql) => {
      const { rows } = await runQuery({ snapshot: join(dataDir, "warehouse.duckdb"), sql });
      return (rows[0] ?? []).map(Number);
    },
    close: async () => {
      await sandbox.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};
