// A state store for one process: a variable.
import type { Clock } from "../core/clock.ts";
import { DuckmirrorError } from "../core/errors.ts";
import type { Fence, StateStore } from "./state-store.ts";

/** Keeps `start` in memory. `holds` tells whether a fence holds; without it every fence does. */
export const createMemoryState = <S>(clock: Clock, start: S, holds: (fence: Fence) => boolean = () => true) => {
  let state = start;
  const store: StateStore<S> = {
    shared: false,
    update: async (step, { fence } = {}) => {
      if (fence !== undefined && !holds(fence)) throw new DuckmirrorError("FENCED");
      // Not awaited before: a reading taken right after the call already shows the change.
      const next = step(state, clock.now());
      state = next.state;
      return next.result;
    },
  };
  return store;
};
