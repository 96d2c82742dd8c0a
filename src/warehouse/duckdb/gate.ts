// Locks for access to a database within this process, first come first served: a gate for shared and exclusive work, a queue for one piece
// of work at a time, and lanes for a fixed number at once.

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

/**
 * Runs up to `count` pieces of work at once, and up to `each` of one asker. The asker with the least running is next; its work starts in
 * call order. A failure stops no other.
 */
export const createFairLanes = (
  count: number,
  each: number,
): (<T>(asker: string, work: () => Promise<T>) => Promise<T>) => {
  const askers = new Map<string, { running: number; readonly waiting: (() => void)[] }>();
  let free = count;
  const startNext = (): void => {
    const [next] = [...askers.values()]
      .filter(({ running, waiting }) => running < each && waiting.length > 0)
      .sort((a, b) => a.running - b.running);
    if (next === undefined || free === 0) return;
    free -= 1;
    next.running += 1;
    next.waiting.shift()?.();
  };
  return async (name, work) => {
    const asker = askers.get(name) ?? { running: 0, waiting: [] };
    askers.set(name, asker);
    await new Promise<void>((resolve) => {
      asker.waiting.push(resolve);
      startNext();
    });
    try {
      return await work();
    } finally {
      free += 1;
      asker.running -= 1;
      if (asker.running === 0 && asker.waiting.length === 0) askers.delete(name);
      startNext();
    }
  };
};

/** Runs up to `count` pieces of work at once, started in call order. A failure stops no other. */
export const createLanes = (count: number): (<T>(work: () => Promise<T>) => Promise<T>) => {
  const lanes = createFairLanes(count, count);
  return (work) => lanes("", work);
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
