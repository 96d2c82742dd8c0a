// Seeded scenarios: which service, limit, window, dialect, latency and company a seed stands for.
import type { Dialect, ResetForm, Rounding } from "../../../../bench/rates/headers.ts";
import {
  fixedWindow,
  type Limit,
  type Limiting,
  slidingWindow,
  tokenBucket,
} from "../../../../bench/rates/services.ts";
import { pick as pickFrom, seededRandom } from "../../../support/chance.ts";
import { type Scenario, type Way, way } from "./simulation.ts";

/** Limits from 10 a minute to 100 a second; none has more than 6,000 requests in a window, so that runs stay short. */
const LIMITS: readonly Limit[] = [
  { limit: 40, windowMs: 1_000 },
  { limit: 100, windowMs: 1_000 },
  { limit: 10, windowMs: 1_000 },
  { limit: 60, windowMs: 6_000 },
  { limit: 300, windowMs: 6_000 },
  { limit: 20, windowMs: 2_000 },
  { limit: 100, windowMs: 10_000 },
  { limit: 50, windowMs: 15_000 },
  { limit: 10, windowMs: 60_000 },
  { limit: 60, windowMs: 60_000 },
  { limit: 120, windowMs: 60_000 },
  { limit: 300, windowMs: 60_000 },
  { limit: 1_200, windowMs: 60_000 },
  { limit: 500, windowMs: 300_000 },
  { limit: 900, windowMs: 900_000 },
  { limit: 1_000, windowMs: 3_600_000 },
];

const LATENCIES: readonly { readonly name: string; readonly up: Way; readonly down: Way }[] = [
  { name: "5 ms", up: way(2, 2), down: way(2, 2) },
  { name: "100 ms", up: way(20, 10, true), down: way(60, 60, true) },
  { name: "400 ms", up: way(20, 20, true), down: way(340, 80) },
  { name: "0.1 to 1.5 s, answers slow", up: way(20, 40, true), down: way(80, 1_360) },
  { name: "0.1 to 1 s, tail", up: way(20, 60, true), down: way(80, 900, true) },
];

export type Kind = "announced" | "revealed";

/** `announced`: headers name the window. `revealed`: only limit, remaining and reset. */
export const scenarioOf = (seed: number, kind: Kind): Scenario => {
  const random = seededRandom(seed * 7_919 + 13);
  for (let n = 0; n < 5; n += 1) random();
  const pick = <T>(...items: readonly T[]): T => pickFrom(random, items);
  const limit = pick(...LIMITS);
  const { name: latency, up, down } = pick(...LATENCIES);
  const makers: readonly (readonly [string, () => Limiting])[] = [
    ["sliding, oldest", () => slidingWindow(limit, "oldest")],
    ["sliding, all", () => slidingWindow(limit, "all")],
    ["fixed, aligned", () => fixedWindow(limit, 0)],
    ["fixed, shifted", () => fixedWindow(limit, 317)],
    ["fixed, from the first request", () => fixedWindow(limit, null)],
    ["bucket, full", () => tokenBucket(limit, limit.limit, "full", "rate")],
    ["bucket, next", () => tokenBucket(limit, limit.limit, "next", "rate")],
    ["gcra", () => tokenBucket(limit, Math.max(4, Math.ceil(limit.limit / 5)), "full", "burst")],
  ];
  const [made, make] = pick(...makers);
  const rounding = pick<Rounding>("up", "up", "down", "nearest");
  const announcing = pick<Dialect["names"]>("structured", "draft7", "legacy", "policy");
  const reset = pick<ResetForm>("delta", "delta", "delta-fraction", "epoch", "epoch-ms", "date");
  const dialect: Dialect = {
    names: kind === "announced" ? announcing : "x",
    reset,
    rounding,
    counted: pick<Dialect["counted"]>("after", "after", "before"),
    retryAfter: pick(true, false),
    // Without the service's clock a moment written as such can only be read on a clock that agrees.
    date: true,
  };
  const perMinute = (limit.limit * 60_000) / limit.windowMs;
  const configured = pick(null, null, perMinute, perMinute * 10);
  const pauseMs = pick(0, 3_000, 30_000);
  const skewMs = pick(0, 1_700, -3_600_000);
  const lateMs = pick(3, 15, 120);
  return {
    name: [
      `seed ${seed}: ${limit.limit} per ${limit.windowMs / 1_000} s`,
      made,
      `${dialect.names} ${reset} ${rounding} ${dialect.counted}`,
      latency,
      `configured ${configured}`,
      `pause ${pauseMs / 1_000} s, skew ${skewMs / 1_000} s, timers ${lateMs} ms late`,
    ].join("; "),
    seed,
    limit,
    service: make(),
    dialect,
    configured,
    up,
    down,
    skewMs,
    lateMs,
    pauseMs,
    windows: Math.max(2, Math.min(30, Math.ceil(2_000 / limit.limit))),
  };
};
