// Who may use the database when: many at once (shared), or one alone (exclusive), first come first served.
// Also a plain queue of one, for writers, and lanes for work side by side.

export interface Gate {
  /** Runs beside other shared work, never beside exclusive work. */
  shared<T>(work: () => Promise<T>): Promise<T>;
  /** Waits until shared work has ended, holds new work back, runs alone. Deadlocks inside shared work. */
  exclusive<T>(work: () => Promise<T>): Promise<T>;
}

/** Runs one piece of work after the other, in the order of the calls; a failure does not stop the queue. */
export const createQueue = (): (<T>(work: () => Promise<T>) => Promise<T>) => {
  let tail: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = tail.then(work);
    tail = result.catch(() => undefined);
    return result;
  };
};

/** Runs up to `count` pieces of work at once, begun in the order of the calls; a failure stops no other. */
export const createLanes = (count: number): (<T>(work: () => Promise<T>) => Promise<T>) => {
  const waiting: (() => void)[] = [];
  let free = count;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
};

/** A fresh gate that nobody has passed. */
export const createGate = (): Gate => {
  let closedUntil: Promise<unknown> = Promise.resolve();
  const inside = new Set<Promise<unknown>>();
  const alone = createQueue();

  const shared = async <T>(work: () => Promise<T>): Promise<T> => {
    // Another exclusive call may have queued while this one waited: look again until nothing is ahead.
    for (let seen: Promise<unknown> | undefined; seen !== closedUntil; ) {
      seen = closedUntil;
      await seen;
    }
    const result = work();
    inside.add(result);
    try {
      return await result;
    } finally {
      inside.delete(result);
    }
  };

  const exclusive = <T>(work: () => Promise<T>): Promise<T> => {
    const result = alone(async () => {
      await Promise.allSettled(inside);
      return work();
    });
    closedUntil = result.catch(() => undefined);
    return result;
  };

  return { shared, exclusive };
};
