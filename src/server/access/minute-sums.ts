// What each key used in its present minute: wrong keys of a network, bytes of a reader. Pure but for its own counts.
const MINUTE_MS = 60_000;
/** Keys that are remembered; the one used longest ago is forgotten first. */
const MOST_KEYS = 10_000;

interface Minute {
  /** ms since the epoch. */
  readonly since: number;
  readonly sum: number;
}

export const createMinuteSums = () => {
  const minutes = new Map<string, Minute>();
  const present = (key: string, now: number): Minute => {
    const minute = minutes.get(key);
    return minute === undefined || now - minute.since >= MINUTE_MS ? { since: now, sum: 0 } : minute;
  };
  return {
    /** ms until the key's next minute; 0: it has used less than `most` of this one. */
    waitMs: (key: string, most: number, now: number): number => {
      const { since, sum } = present(key, now);
      return sum < most ? 0 : Math.max(0, since + MINUTE_MS - now);
    },
    /** Adds an amount, and returns the minute's sum. */
    add: (key: string, amount: number, now: number): number => {
      const { since, sum } = present(key, now);
      minutes.delete(key);
      minutes.set(key, { since, sum: sum + amount });
      const [oldest] = minutes.keys();
      if (minutes.size > MOST_KEYS && oldest !== undefined) minutes.delete(oldest);
      return sum + amount;
    },
  };
};
