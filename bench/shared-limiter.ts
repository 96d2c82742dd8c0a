// Case shared-limiter: eight processes, some with wrong clocks, share one limiter in Redis. Which share of the allowed
// rate do they use together, and is any request refused, by a sliding or a fixed minute? Each figure takes a minute.
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { atLeast, atMost, type BenchCase, type Figure } from "./case.ts";
import { startJudgingService } from "./judging-service.ts";
import { openBenchRedis } from "./private-redis.ts";

const PER_MINUTE = 300;
const WARM_UP_MS = 5_000;
const WINDOW_MS = 60_000;
const CLOCK_ERRORS_MS = [0, 0, 3_600_000, -3_600_000, 700, -700, 60_000, 86_400_000] as const;

// The same file name as this one's, in the source tree as in the build.
const CLIENT = fileURLToPath(import.meta.url).replace("shared-limiter", "limiter-client");

const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const measure = async (redisUrl: string, configured: number | null) => {
  const service = await startJudgingService(PER_MINUTE, () => 100 + Math.random() * 300);
  const organization = randomUUID();
  const clients: ChildProcess[] = [];
  try {
    const rate = configured === null ? "" : String(configured);
    for (const skew of CLOCK_ERRORS_MS) {
      clients.push(fork(CLIENT, [redisUrl, organization, service.url, rate, String(skew)]));
    }
    await pass(WARM_UP_MS + WINDOW_MS + 5_000);
    // From when all of them run; starting eight processes takes its time.
    const from = (service.arrivals[0] ?? 0) + WARM_UP_MS;
    const used = service.arrivals.filter((at) => at >= from && at < from + WINDOW_MS).length;
    return { share: (100 * used) / PER_MINUTE, refusals: service.refusals() };
  } finally {
    const ended = clients.map((client) => once(client, "exit"));
    for (const client of clients) client.kill();
    await Promise.all(ended);
    await service.close();
  }
};

export const sharedLimiter: BenchCase = {
  id: "shared-limiter",
  title: `One limiter in Redis, ${CLOCK_ERRORS_MS.length} processes, ${PER_MINUTE} requests a minute, ${WINDOW_MS / 1000} s`,
  run: async () => {
    const redis = await openBenchRedis();
    const figures: Figure[] = [];
    try {
      for (const configured of [PER_MINUTE, null]) {
        const { share, refusals } = await measure(redis.url, configured);
        const how = configured === null ? "rate not configured" : "rate configured";
        figures.push(
          atLeast(`${how}: share of the allowed rate`, share, 97, "%", 1),
          atMost(`${how}: at most all of it`, share, 100, "%", 1),
          atMost(`${how}: answers with 429, by a sliding and a fixed minute`, refusals, 0, "", 0),
        );
      }
      return figures;
    } finally {
      await redis.close();
    }
  },
};
