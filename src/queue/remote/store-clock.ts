// Redis's clock on this machine: its own clock, corrected by Redis's latest time.
import type { Clock } from "../../core/clock.ts";

export interface StoreClock extends Clock {
  /** Records that Redis's time is `at` now, ms since the epoch. */
  correct(at: number): void;
  /** Redis's clock minus this machine's, ms. */
  skewMs(): number;
}

export const createStoreClock = (clock: Clock): StoreClock => {
  let skew = 0;
  return {
    now: () => clock.now() + skew,
    sleep: (ms, signal) => clock.sleep(ms, signal),
    correct: (at) => {
      skew = at - clock.now();
    },
    skewMs: () => skew,
  };
};
