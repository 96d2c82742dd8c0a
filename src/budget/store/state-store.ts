// `StateStore`: the interface that stores the states of limiter and ledger, and its implementation in memory; in-redis.ts shares them among
// the processes of an organization. It decides nothing; the pure functions do.
import type { Clock } from "../../core/clock.ts";

/** Keeps the state of one process in memory. */
export const createMemoryState = <S>(clock: Clock, start: S) => {
  let state = start;
  const store: StateStore<S> = {
    shared: false,
    update: async (step) => {
      // No await before this line, so a reading right after the call shows the change.
      const next = step(state, clock.now());
      state = next.state;
      return next.result;
    },
  };
  return store;
};

export interface UpdateOptions {
  /** Ends the wait for an unreachable store; the update rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Result of one step. A step that returns its input state writes nothing. */
export interface Stepped<S, R> {
  readonly state: S;
  readonly result: R;
}

export interface StateStore<S> {
  /** True when other processes change the state too, so that a reading is soon out of date. */
  readonly shared: boolean;
  /**
   * Changes the state atomically. `now` is the store's own clock, ms since the epoch, the same for every process.
   * `step` must be pure, because it is repeated if another process wrote first. Rejects with REDIS_UNAVAILABLE or
   * REDIS_FULL after retrying, and with the signal's reason.
   */
  update<R>(step: (state: S, now: number) => Stepped<S, R>, options?: UpdateOptions): Promise<R>;
}
