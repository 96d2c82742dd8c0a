// Shares one reading among those who ask within a moment.
import type { Clock } from "../clock.ts";

/** `read` with its latest result kept for `keptMs`; a failure is not kept. */
export const briefly = <T>(read: () => Promise<T>, clock: Pick<Clock, "now">, keptMs: number): (() => Promise<T>) => {
  let latest: { readonly at: number; readonly result: Promise<T> } | null = null;
  return () => {
    const ageMs = latest === null ? keptMs : clock.now() - latest.at;
    // Negative after the clock was set back.
    if (latest !== null && ageMs >= 0 && ageMs < keptMs) return latest.result;
    const reading = { at: clock.now(), result: read() };
    latest = reading;
    reading.result.catch(() => {
      if (latest === reading) latest = null;
    });
    return reading.result;
  };
};
