// Wrong keys, counted by the address they come from. A right key is always taken, so nobody can lock another out; how
// hard a key is to guess is the key's business (core/config/key-text.ts).

/** Wrong keys of an address within a minute before it is told to wait. */
const MOST_WRONG = 20;
const MINUTE_MS = 60_000;
const MOST_ADDRESSES = 10_000;

/** One network of IPv6 is one address: who has one address of it has all. */
const addressOf = (address: string): string => {
  const bare = address.replace(/^::ffff:/i, "");
  return bare.includes(":") ? bare.split(":").slice(0, 4).join(":") : bare;
};

export interface Guesses {
  /** A wrong key came from `address`; true: it has sent too many. */
  isTooMany(address: string, now: number): boolean;
}

export const createGuesses = (): Guesses => {
  const minutes = new Map<string, { readonly since: number; readonly count: number }>();
  return {
    isTooMany: (address, now) => {
      const from = addressOf(address);
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
