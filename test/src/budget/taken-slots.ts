// Moments at which slots of a limiter were taken, by the clock of its store.
import type { SharedLimiter } from "../../../src/budget/rate/windows.ts";
import type { StateStore } from "../../../src/budget/store/state-store.ts";

const isGranted = (result: unknown): boolean => typeof result === "object" && result !== null && "inFlight" in result;

/** Notes at which moments of the store's clock slots were taken. */
export const recording = (store: StateStore<SharedLimiter>, taken: number[]): StateStore<SharedLimiter> => ({
  shared: store.shared,
  update: async (step, options) => {
    let at = 0;
    const result = await store.update((state, now) => {
      at = now;
      return step(state, now);
    }, options);
    if (isGranted(result)) taken.push(at);
    return result;
  },
});

/** Most of `times` within any window of this length. */
export const mostWithin = (times: readonly number[], windowMs: number): number => {
  const sorted = [...times].sort((a, b) => a - b);
  let first = 0;
  return sorted.reduce((most, time, index) => {
    while (time - (sorted[first] ?? time) >= windowMs) first += 1;
    return Math.max(most, index - first + 1);
  }, 0);
};
