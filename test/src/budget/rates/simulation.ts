// One client against one service on virtual time: the program's own throttle, header parser and waits after refusals,
// with latency on both ways, pauses, and others who use the same token.

import { type Dialect, headersOf } from "../../../../bench/rates/headers.ts";
import { createManualClock } from "../../../../bench/rates/manual-clock.ts";
import type { Limit, Limiting } from "../../../../bench/rates/services.ts";
import { parseRateHeaders } from "../../../../src/api/limits/rate-headers.ts";
import { createThrottle } from "../../../../src/budget/rate/throttle.ts";
import type { Clock } from "../../../../src/core/clock.ts";

/** A seeded random number in [0, 1). */
export const seeded = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

/** One way's latency in ms: `least`, and up to `spread` more, evenly or with a long tail. */
export interface Way {
  readonly least: number;
  readonly spread: number;
  readonly tail: boolean;
}

export interface Scenario {
  readonly name: string;
  readonly seed: number;
  /** Each must allow a request. The first is the one whose use is measured. */
  readonly limits: readonly Limit[];
  readonly services: readonly Limiting[];
  readonly dialect: Dialect;
  /** Requests per minute that the user set. */
  readonly configured: number | null;
  readonly up: Way;
  readonly down: Way;
  /** The service's clock minus the client's. */
  readonly skewMs: number;
  /** How late a timer may fire, ms. */
  readonly lateMs: number;
  /** No work for so long, in the middle. */
  readonly pauseMs: number;
  /** Requests per window of another client of the same token, as a share of the limit. */
  readonly others: number;
  /** From the second part on the headers are missing. */
  readonly vanish: boolean;
  /** Windows before measuring, and windows measured. */
  readonly warmWindows: number;
  readonly windows: number;
}

export interface Figures {
  /** Answers of 429: before the measured part, within it. */
  readonly early: number;
  readonly late: number;
  /** Bursts of refusals: those at least a window apart count apart. */
  readonly bursts: number;
  /** Share of the allowed requests that got through while measured. */
  readonly share: number;
  readonly sent: number;
}

const latency = ({ least, spread, tail }: Way, random: () => number): number =>
  least + (tail ? Math.min(spread, -Math.log(1 - random()) * spread * 0.25) : random() * spread);

/** The rate that all limits together allow in the long run, per ms. */
const allowedPerMs = (limits: readonly Limit[]): number =>
  Math.min(...limits.map(({ limit, windowMs }) => limit / windowMs));

const longestMs = (limits: readonly Limit[]): number => Math.max(...limits.map(({ windowMs }) => windowMs));

export const simulate = async (scenario: Scenario): Promise<Figures> => {
  const { limits, services, dialect, configured, skewMs } = scenario;
  const random = seeded(scenario.seed);
  const start = Date.UTC(2026, 0, 5, 10) + Math.floor(random() * 3_600_000);
  const clock = createManualClock(start);
  // Timers of the client fire late; the network knows nothing of that.
  const own: Clock = {
    now: clock.now,
    sleep: (ms, signal) => clock.sleep(ms + Math.floor(random() * (scenario.lateMs + 1)), signal),
  };
  const throttle = createThrottle({ clock: own, configured, process: "one" });
  const perMs = allowedPerMs(limits);
  const windowMs = longestMs(limits);
  const warmUntil = start + Math.max(scenario.warmWindows * windowMs, 15_000);
  const pauseUntil = warmUntil + scenario.pauseMs;
  const until = pauseUntil + scenario.windows * windowMs;
  const busyFrom = pauseUntil;
  let sent = 0;
  let got = 0;
  const refusals: number[] = [];

  /** The service itself; its clock is its own. */
  const arrive = () => {
    const now = clock.now() + skewMs;
    const counts = services.map((service) => service.take(now));
    return { now, counts, allowed: counts.every((count) => count.allowed) };
  };

  const request = async (attempt: number): Promise<boolean> => {
    const sentAt = clock.now();
    sent += 1;
    await clock.sleep(latency(scenario.up, random));
    const arrival = arrive();
    if (arrival.allowed && clock.now() >= busyFrom && clock.now() < until) got += 1;
    if (!arrival.allowed) refusals.push(clock.now());
    await own.sleep(latency(scenario.down, random));
    const now = clock.now();
    const silent = scenario.vanish && now > warmUntil;
    const headers = headersOf(arrival.counts, arrival.now, silent ? { ...dialect, names: "none" } : dialect);
    const rate = parseRateHeaders(headers, now);
    const end = arrival.allowed ? {} : { end: "refused" as const };
    void throttle.observe(rate, { sentAt, answeredAt: now, ...end });
    if (arrival.allowed) return true;
    // As the retry policy decides: Retry-After, else the reset where nothing is left, else a growing while.
    const backoff = now + 1_000 * 2 ** Math.min(attempt, 6) * (0.5 + random() / 2);
    const named = rate?.retryAt ?? (rate?.remaining === 0 ? rate.resetsAt : null);
    const cause = rate?.remaining === 0 || (named ?? now) - now > 5_000 ? "rate" : "unclear";
    const untilMs = named === null ? backoff : Math.max(named, attempt > 1 ? backoff : now);
    await throttle.backOff({ untilMs, cause, namedAt: named });
    return false;
  };

  const worker = async () => {
    for (;;) {
      if (clock.now() >= warmUntil && clock.now() < pauseUntil) await clock.sleep(pauseUntil - clock.now());
      await throttle.acquire();
      for (let attempt = 1; !(await request(attempt)); attempt += 1) await throttle.acquire();
    }
  };
  const { up, down, lateMs } = scenario;
  const slowestMs = up.least + up.spread + down.least + down.spread + 3 * lateMs;
  const workers = Math.min(400, 4 + Math.ceil(perMs * slowestMs * 1.3));
  for (let n = 0; n < workers; n += 1) void worker();

  const other = async () => {
    for (;;) {
      await clock.sleep((random() * 2) / (perMs * scenario.others));
      arrive();
    }
  };
  if (scenario.others > 0) void other();

  await clock.advance(until - start);
  const apart = refusals.filter((at, n) => n === 0 || at - (refusals[n - 1] ?? at) > Math.max(windowMs, 2_000)).length;
  return {
    early: refusals.filter((at) => at < busyFrom).length,
    late: refusals.filter((at) => at >= busyFrom).length,
    bursts: apart,
    share: got / (perMs * (1 - scenario.others) * (until - busyFrom)),
    sent,
  };
};
