// State store for one process, in a variable.
import type { Clock } from "../../core/clock.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { Fence, StateStore } from "./state-store.ts";

/** Keeps the state in memory. `holds` tests a fence; by default every fence holds. */
export const createMemoryState = <S>(clock: Clock, start: S, holds: (fence: Fence) => boolean = () => true) => {
  let state = start;
  const store: StateStore<S> = {
    shared: false,
    update: async (step, { fence } = {}) => {
      if (fence !== undefined && !holds(fence)) throw new DuckmirrorError("FENCED");
      // No await before this line, so a reading right after the call shows the change.
      const next = step(state, clock.now());
      state = next.state;
      return next.result;
    },
  };
  return store;
};
