// Combines the updates that a process makes at the same time: updates with the same fence become one read and one write of the
// shared state. Sent one by one, each would find that another changed the state, and would be tried again and again.
import { isCode } from "../../core/errors.ts";
import type { Fence, StateStore, Stepped, UpdateOptions } from "./state-store.ts";

interface Waiting<S> {
  readonly options: UpdateOptions;
  /** Applies the step; the returned function settles its caller once the change is stored. */
  apply(state: S, now: number): { readonly state: S; readonly done: () => void };
  refuse(reason: unknown): void;
}

const sameFence = (one: Fence | undefined, other: Fence | undefined): boolean =>
  one?.key === other?.key && one?.value === other?.value;

/** Runs `work` with a signal that aborts once all `signals` have. A missing signal never aborts. */
const whileWanted = async <T>(
  signals: readonly (AbortSignal | undefined)[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const unwanted = new AbortController();
  const check = () => {
    if (signals.every((signal) => signal?.aborted === true)) unwanted.abort(signals.at(-1)?.reason);
  };
  for (const signal of signals) signal?.addEventListener("abort", check);
  check();
  try {
    return await work(unwanted.signal);
  } finally {
    for (const signal of signals) signal?.removeEventListener("abort", check);
  }
};

/** Stores a batch as one update, without the updates whose caller has left or whose step throws. */
const updateTogether = async <S>(store: StateStore<S>, batch: readonly Waiting<S>[]): Promise<void> => {
  const [first] = batch;
  if (first === undefined) return;
  const step = (start: S, now: number): Stepped<S, readonly (() => void)[]> => {
    let state = start;
    const done: (() => void)[] = [];
    for (const each of batch) {
      try {
        each.options.signal?.throwIfAborted();
        const applied = each.apply(state, now);
        state = applied.state;
        done.push(applied.done);
      } catch (error) {
        done.push(() => each.refuse(error));
      }
    }
    return { state, result: done };
  };
  try {
    const signals = batch.map(({ options }) => options.signal);
    const { fence } = first.options;
    const stored = await whileWanted(signals, (signal) => store.update(step, { signal, fence }));
    for (const done of stored) done();
  } catch (error) {
    for (const each of batch) {
      const { signal } = each.options;
      each.refuse(signal?.aborted === true && !isCode(error, "FENCED") ? signal.reason : error);
    }
  }
};

/** The store, with combined updates: those requested during an update are stored together after it, in their order. */
export const combined = <S>(store: StateStore<S>): StateStore<S> => {
  let waiting: Waiting<S>[] = [];
  let busy = false;

  const serve = async (): Promise<void> => {
    busy = true;
    while (waiting.length > 0) {
      const [first] = waiting;
      const batch = waiting.filter(({ options }) => sameFence(options.fence, first?.options.fence));
      waiting = waiting.filter((each) => !batch.includes(each));
      await updateTogether(store, batch);
      // Lets callers that just got their result add their next update to the next batch.
      await new Promise((resolve) => setImmediate(resolve));
    }
    busy = false;
  };

  return {
    shared: store.shared,
    update: (step, options = {}) =>
      new Promise((resolve, reject) => {
        const { signal } = options;
        // A caller that leaves does not wait for the others of its batch.
        const leave = () => reject(signal?.reason);
        signal?.addEventListener("abort", leave, { once: true });
        const settled = () => signal?.removeEventListener("abort", leave);
        waiting.push({
          options,
          apply: (state, now) => {
            const next = step(state, now);
            const done = () => {
              settled();
              resolve(next.result);
            };
            return { state: next.state, done };
          },
          refuse: (reason) => {
            settled();
            reject(reason);
          },
        });
        if (!busy) void serve();
      }),
  };
};
