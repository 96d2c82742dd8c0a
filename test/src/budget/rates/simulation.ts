// One client against one service on virtual time: the program's own throttle, header parser and waits after refusals,
// with latency on both ways and a pause.

import { type Dialect, headersOf } from "../../../../bench/rates/headers.ts";
import { createManualClock } from "../../../../bench/rates/manual-clock.ts";
import type { Limit, Limiting } from "../../../../bench/rates/services.ts";
import { parseRateHeaders } from "../../../../src/api/limits/rate-headers.ts";
import { createThrottle } from "../../../../src/budget/rate/throttle.ts";
import type { Clock } from "../../../../src/core/clock.ts";
import { seededRandom } from "../../../support/chance.ts";

/** One way's latency in ms: `least`, and up to `spread` more, evenly or with a long tail. */
export interface Way {
  readonly least: number;
  readonly spread: number;
  readonly tail: boolean;
}
export const way = (least: number, spread: number, tail = false): Way => ({ least, spread, tail });

export interface Scenario {
  readonly name: string;
  readonly seed: number;
  readonly limit: Limit;
  readonly service: Limiting;
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
  /** Windows that are measured. */
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
}

const latency = ({ least, spread, tail }: Way, random: () => number): number =>
  least + (tail ? Math.min(spread, -Math.log(1 - random()) * spread * 0.25) : random() * spread);

export const simulate = async (scenario: Scenario): Promise<Figures> => {
  const { service, dialect, configured, up, down, skewMs, lateMs } = scenario;
  const { windowMs } = scenario.limit;
  const random = seededRandom(scenario.seed);
  const start = Date.UTC(2026, 0, 5, 10) + Math.floor(random() * 3_600_000);
  const clock = createManualClock(start);
  // Timers of the client fire late; the network knows nothing of that.
  const own: Clock = {
    now: clock.now,
    sleep: (ms, signal) => clock.sleep(ms + Math.floor(random() * (lateMs + 1)), signal),
  };
  const throttle = createThrottle({ clock: own, configured, process: "one" });
  const perMs = scenario.limit.limit / windowMs;
  const warmUntil = start + Math.max(2 * windowMs, 15_000);
  const pauseUntil = warmUntil + scenario.pauseMs;
  const until = pauseUntil + scenario.windows * windowMs;
  let got = 0;
  const refusals: number[] = [];

  const request = async (attempt: number): Promise<boolean> => {
    const sentAt = clock.now();
    await clock.sleep(latency(up, random));
    const serviceNow = clock.now() + skewMs;
    const count = service.take(serviceNow);
    if (count.allowed && clock.now() >= pauseUntil && clock.now() < until) got += 1;
    if (!count.allowed) refusals.push(clock.now());
    await own.sleep(latency(down, random));
    const now = clock.now();
    const rate = parseRateHeaders(headersOf([count], serviceNow, dialect), now);
    const end = count.allowed ? {} : { end: "refused" as const };
    void throttle.observe(rate, { sentAt, answeredAt: now, ...end });
    if (count.allowed) return true;
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
  const slowestMs = up.least + up.spread + down.least + down.spread + 3 * lateMs;
  const workers = Math.min(400, 4 + Math.ceil(perMs * slowestMs * 1.3));
  for (let n = 0; n < workers; n += 1) void worker();

  await clock.advance(until - start);
  const apart = refusals.filter((at, n) => n === 0 || at - (refusals[n - 1] ?? at) > Math.max(windowMs, 2_000)).length;
  return {
    early: refusals.filter((at) => at < pauseUntil).length,
    late: refusals.filter((at) => at >= pauseUntil).length,
    bursts: apart,
    share: got / (perMs * (until - pauseUntil)),
  };
};
