// The allowed rate is never exceeded, and latency does not hold the program back. Takes a real minute: the service's
// window is a minute long and exact. How much of the rate is used depends on how busy the machine is: the exact share is
// shown under virtual time (test/src/budget/rates) and measured by `npm run bench`.
import { afterAll, beforeAll, expect, test } from "vitest";
import { syncReportSchema } from "../../src/core/report/sync-report.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/sandbox.ts";
import { runBuilt, syncEnv } from "../acceptance/built-cli.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";

const PER_MINUTE = 300;
const WINDOW_MS = 60_000;
/** Until the first answers of each list are there, one request waits for the other. */
const WARM_UP_MS = 8_000;
/** One request at a time would use a quarter at this latency. */
const LEAST_SHARE = 0.5;

interface Watched {
  readonly sandbox: Sandbox;
  readonly arrivals: number[];
}
const watched: Watched[] = [];

const start = async (seed: number): Promise<Watched> => {
  const plan = { accounts: 120, plan: "pro", latencyMs: 800, threads: 1 } as const;
  const sandbox = await startSandbox({ seed, ...plan });
  const arrivals: number[] = [];
  // Called once the latency is over, which is the same for every request.
  sandbox.intercept((_request, next) => {
    arrivals.push(Date.now());
    return next();
  });
  watched.push({ sandbox, arrivals });
  return { sandbox, arrivals };
};

beforeAll(async () => {
  await start(41);
  await start(42);
});
afterAll(async () => {
  for (const { sandbox } of watched) await sandbox.close();
});

/** Requests in the minute after the warm-up, as a share of those allowed. */
const shareOfRate = (arrivals: readonly number[]): number => {
  const from = (arrivals[0] ?? 0) + WARM_UP_MS;
  return arrivals.filter((at) => at >= from && at < from + WINDOW_MS).length / PER_MINUTE;
};

test("300 requests a minute with 800 ms latency are used without a 429, configured and found out", async () => {
  const settings: readonly Record<string, string>[] = [{ DUCKMIRROR_RATE_LIMIT: "pro" }, {}];
  const runs = settings.map(async (env, index) => {
    const { sandbox, arrivals } = watched[index] ?? (await start(43));
    const run = await runBuilt(["sync", "--json", "--max-duration", "70s"], {
      ...syncEnv(sandbox, tempFolder()),
      ...env,
    });
    expect(run.code, run.err).toBe(4);
    expect(syncReportSchema.parse(JSON.parse(run.out)).status).toBe("stopped");
    return { refused: sandbox.stats().byStatus["429"] ?? 0, share: shareOfRate(arrivals) };
  });
  for (const { refused, share } of await Promise.all(runs)) {
    expect(refused).toBe(0);
    expect(share).toBeGreaterThanOrEqual(LEAST_SHARE);
    expect(share).toBeLessThanOrEqual(1);
  }
});
