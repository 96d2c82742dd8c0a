// Order of access to the database: a gate for shared and exclusive work, first come first served; a queue for one
// piece of work at a time; lanes for a fixed number at once.

export interface Gate {
  /** Runs beside other shared work, but never beside exclusive work. */
  shared<T>(work: () => Promise<T>): Promise<T>;
  /** Waits for running shared work, holds back new work, and runs alone. Deadlocks if called inside shared work. */
  exclusive<T>(work: () => Promise<T>): Promise<T>;
}

/** Runs one piece of work after another, in call order. A failure does not stop the queue. */
export const createQueue = (): (<T>(work: () => Promise<T>) => Promise<T>) => {
  let tail: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = tail.then(work);
    tail = result.catch(() => undefined);
    return result;
  };
};

/** Runs up to `count` pieces of work at once, started in call order. A failure stops no other. */
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

/** A new open gate. */
export const createGate = (): Gate => {
  let closedUntil: Promise<unknown> = Promise.resolve();
  const inside = new Set<Promise<unknown>>();
  const alone = createQueue();

  const shared = async <T>(work: () => Promise<T>): Promise<T> => {
    // More exclusive work may have queued during the wait, so repeat until none is ahead.
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
