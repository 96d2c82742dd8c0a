// Counts wrong keys by network. The right key is always accepted, so nobody can lock others out;
// core/config/key-text.ts ensures that a key is hard to guess.
import { networkOf } from "./network.ts";

/** Number of wrong keys from an address within a minute before it must wait. */
const MOST_WRONG = 20;
const MINUTE_MS = 60_000;
const MOST_ADDRESSES = 10_000;

export interface Guesses {
  /** Records a wrong key from `address`; true: it has sent too many. */
  isTooMany(address: string, now: number): boolean;
}

export const createGuesses = (): Guesses => {
  const minutes = new Map<string, { readonly since: number; readonly count: number }>();
  return {
    isTooMany: (address, now) => {
      const from = networkOf(address);
      const before = minutes.get(from);
      const minute =
        before === undefined || before.since <= now - MINUTE_MS
          ? { since: now, count: 1 }
          : { since: before.since, count: before.count + 1 };
      minutes.delete(from);
      minutes.set(from, minute);
      const [oldest] = minutes.keys();
      if (minutes.size > MOST_ADDRESSES && oldest !== undefined) minutes.delete(oldest);
      return minute.count > MOST_WRONG;
    },
  };
};
