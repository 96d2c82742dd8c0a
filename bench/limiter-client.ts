// One process of the case shared-limiter: sends what the shared limiter lets it send, until its parent ends.
// Arguments: Redis, organization, service, requests per minute (empty: learned from answers), error of its clock in ms.
import { z } from "zod";
import { redisLimiter } from "../src/budget/limits-in-redis.ts";
import { createThrottle } from "../src/budget/rate/throttle.ts";
import { connectRedis } from "../src/budget/store/redis-connection.ts";
import { type Clock, systemClock } from "../src/core/clock.ts";

const WORKERS = 4;

const [redisUrl = "", organization = "", service = "", rate = "", skew = "0"] = process.argv.slice(2);
process.on("disconnect", () => process.exit());

const judgement = z.object({ remaining: z.number(), resetsInMs: z.number() });
const clock: Clock = { ...systemClock, now: () => systemClock.now() + Number(skew) };
const connection = connectRedis(redisUrl);
const throttle = createThrottle({
  clock,
  configured: rate === "" ? null : Number(rate),
  store: redisLimiter({ connection, organization, clock }),
});

const work = async () => {
  for (;;) {
    await throttle.acquire();
    const response = await fetch(service);
    const body: unknown = await response.json();
    if (response.status === 429) {
      const now = clock.now();
      void throttle.observe(null, { sentAt: now, answeredAt: now, end: "refused" });
      void throttle.backOff({ untilMs: now + 1_000, cause: "unclear", namedAt: null });
      continue;
    }
    const { remaining, resetsInMs } = judgement.parse(body);
    const resetsAt = clock.now() + resetsInMs;
    void throttle.observe({ limit: 300, windowMs: null, remaining, resetsAt, retryAt: null });
  }
};

for (let n = 0; n < WORKERS; n += 1) void work();
