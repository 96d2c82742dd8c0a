// Maps many items with few of them under way.

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
