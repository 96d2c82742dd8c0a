// Case rate: which share of the allowed rate a sync uses once it runs, whatever the latency, and how many 429s it gets.
// The service's window is exact and a minute long, so each figure takes a real minute.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atLeast, atMost, type BenchCase, type Figure } from "./case.ts";
import { startBenchMirror } from "./mirror-of.ts";

const ACCOUNTS = 2000;
const PER_MINUTE = 300;
const WARM_UP_MS = 15_000;
const WINDOW_MS = 60_000;

const SETTINGS = [
  { latencyMs: 50, configured: "pro" },
  { latencyMs: 400, configured: "pro" },
  { latencyMs: 1500, configured: "pro" },
  // Nothing configured: the rate is learned from the headers of the first answer.
  { latencyMs: 400, configured: "" },
] as const;

export const rate: BenchCase = {
  id: "rate",
  title: `Rate, ${ACCOUNTS} accounts, ${PER_MINUTE} requests a minute, one minute after ${WARM_UP_MS / 1000} s`,
  run: async () => {
    const dir = await mkdtemp(join(tmpdir(), "duckmirror-bench-world-"));
    const figures: Figure[] = [];
    try {
      for (const { latencyMs, configured } of SETTINGS) {
        const plan = { plan: "pro", requestsPerMinute: PER_MINUTE, seed: 8, dir } as const;
        const mirror = await startBenchMirror({ ...plan, accounts: ACCOUNTS, latencyMs });
        try {
          const arrivals: number[] = [];
          mirror.sandbox.intercept((_request, next) => {
            arrivals.push(Date.now());
            return next();
          });
          const maxDurationMs = WARM_UP_MS + WINDOW_MS + 2 * latencyMs;
          await mirror.sync({ maxDurationMs }, { DUCKMIRROR_RATE_LIMIT: configured });
          const from = (arrivals[0] ?? 0) + WARM_UP_MS;
          const used = arrivals.filter((at) => at >= from && at < from + WINDOW_MS).length;
          const refused = mirror.sandbox.stats().byStatus["429"] ?? 0;
          const where = `${latencyMs} ms latency${configured === "" ? ", rate not configured" : ""}`;
          figures.push(
            atLeast(`${where}: share of the allowed rate`, (100 * used) / PER_MINUTE, 98, "%", 1),
            atMost(`${where}: answers with 429`, refused, 0, "", 0),
          );
        } finally {
          await mirror.close();
        }
      }
      return figures;
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  },
};
