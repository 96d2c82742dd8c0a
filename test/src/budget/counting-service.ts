// A service that counts requests as real ones do, and says so in its headers.
import type { RateInfo } from "../../../src/api/outcome.ts";
import type { Clock } from "../../../src/core/clock.ts";
import { said } from "../../support/rate-info.ts";

export interface CountingService {
  readonly refusals: number;
  /** Remaining and reset after one request now; null: refused. */
  request(): RateInfo | null;
}

/** Its window is a minute of the clock; its reset is rounded up to the second. */
export const fixedWindow = (clock: Clock, limit: number): CountingService => {
  let window = 0;
  let used = 0;
  const service = {
    refusals: 0,
    request: () => {
      const current = Math.floor(clock.now() / 60_000);
      if (current !== window) [window, used] = [current, 0];
      const resetsAt = Math.ceil(((current + 1) * 60_000) / 1_000) * 1_000;
      if (used >= limit) {
        service.refusals += 1;
        return null;
      }
      used += 1;
      return said({ limit, remaining: limit - used, resetsAt });
    },
  };
  return service;
};

/** Its reset says when everything is free again, which is always a minute away. */
export const slidingWindow = (clock: Clock, limit: number): CountingService => {
  let times: number[] = [];
  const service = {
    refusals: 0,
    request: () => {
      times = times.filter((time) => time > clock.now() - 60_000);
      if (times.length >= limit) {
        service.refusals += 1;
        return null;
      }
      times.push(clock.now());
      return said({ limit, remaining: limit - times.length, resetsAt: clock.now() + 60_000 });
    },
  };
  return service;
};
