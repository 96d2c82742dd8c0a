// Windows and refills within a second, announced by headers: refusals, and the share of the rate that is used
// (docs/decisions/rate-limit.md). Shows P17.
import { expect, test } from "vitest";
import { TELLS } from "../../../../bench/rates/headers.ts";
import {
  fixedWindow,
  type Limit,
  type Limiting,
  slidingWindow,
  steppedBucket,
} from "../../../../bench/rates/services.ts";
import { simulate, way } from "./simulation.ts";

const LATENCIES = [
  { up: way(2, 2), down: way(2, 2) },
  { up: way(20, 20, true), down: way(340, 80, true) },
];

const forty: Limit = { limit: 40, windowMs: 1_000 };
const fifty: Limit = { limit: 50, windowMs: 1_000 };
const five: Limit = { limit: 5, windowMs: 100 };
const ten: Limit = { limit: 10, windowMs: 250 };

const services: readonly (readonly [string, Limit, () => Limiting, { least: number; refusals: number }])[] = [
  ["40 a second, sliding", forty, () => slidingWindow(forty, "oldest"), { least: 0.9, refusals: 0 }],
  ["5 back every 100 ms, 50 at most", fifty, () => steppedBucket(fifty, 100, 50, "rate"), { least: 0.9, refusals: 0 }],
  // Windows shorter than an answer takes: a request counts until its answer.
  ["10 every 250 ms, fixed", ten, () => fixedWindow(ten, 0), { least: 0.6, refusals: 1 }],
  ["5 every 100 ms, sliding", five, () => slidingWindow(five, "oldest"), { least: 0.2, refusals: 0 }],
  ["5 back every 100 ms, as a limit", fifty, () => steppedBucket(fifty, 100, 5, "step"), { least: 0.2, refusals: 0 }],
];

test.each(services)("%s: few refusals, none later, and most of the rate is used", async (name, limit, make, bound) => {
  for (const latency of LATENCIES) {
    const { early, late, share } = await simulate({
      ...{ name, seed: 7, limit, service: make(), dialect: TELLS, configured: null, ...latency },
      ...{ skewMs: 0, lateMs: 15, pauseMs: 3_000, windows: 8_000 / limit.windowMs },
    });
    expect(late, JSON.stringify(latency)).toBe(0);
    expect(early, JSON.stringify(latency)).toBeLessThanOrEqual(bound.refusals);
    expect(share, JSON.stringify(latency)).toBeGreaterThan(bound.least);
  }
});
