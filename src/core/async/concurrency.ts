// Limits concurrency: maps many items with at most a few under way, and gathers calls of the same moment into batches.

// Calls of the same moment, carried out as one.

interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A function whose calls wait for the end of the current turn of the event loop, and are then passed on together, at most
 * `most` at a time, in their order. `work` returns one result per item; if it rejects, all its items reject.
 */
export const gathered = <T, R>(
  most: number,
  work: (items: readonly T[]) => Promise<readonly R[]>,
): ((item: T) => Promise<R>) => {
  let waiting: Waiting<T, R>[] = [];

  const carryOut = async (calls: readonly Waiting<T, R>[]): Promise<void> => {
    try {
      const results = await work(calls.map(({ item }) => item));
      if (results.length < calls.length) throw new TypeError(`${results.length} results of ${calls.length} calls`);
      for (const [nth, result] of results.entries()) calls[nth]?.resolve(result);
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  };
  const passOn = (): void => {
    const calls = waiting;
    waiting = [];
    for (let at = 0; at < calls.length; at += most) void carryOut(calls.slice(at, at + most));
  };
  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(passOn);
      waiting.push({ item, resolve, reject });
    });
};

/** Results in the order of the items; at most `most` are under way. Rejects with the first failure, once all have ended. */
export const mapAtOnce = async <T, R>(
  items: readonly T[],
  most: number,
  map: (item: T) => Promise<R>,
): Promise<readonly R[]> => {
  const left = [...items.entries()];
  const results = new Map<number, R>();
  const failures: unknown[] = [];
  const next = async (): Promise<void> => {
    for (let entry = left.shift(); entry !== undefined; entry = left.shift()) {
      const [nth, item] = entry;
      try {
        results.set(nth, await map(item));
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, next));
  if (failures.length > 0) throw failures[0];
  return [...results].sort(([a], [b]) => a - b).map(([, result]) => result);
};
