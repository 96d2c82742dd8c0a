// Values that may be made again, kept up to a number of bytes: those used longest ago go first.

export interface Kept<T> {
  get(key: string): T | undefined;
  /** `bytes`: what the value takes. A value larger than the bound is not kept. */
  set(key: string, value: T, bytes: number): void;
  /** Drops the values whose keys begin with this text. */
  dropAll(beginning: string): void;
}

/** Keeps values of at most `mostBytes` together. */
export const createKept = <T>(mostBytes: number): Kept<T> => {
  /** In the order of their last use. */
  const entries = new Map<string, { readonly value: T; readonly bytes: number }>();
  let total = 0;

  const drop = (key: string): void => {
    total -= entries.get(key)?.bytes ?? 0;
    entries.delete(key);
  };
  return {
    get: (key) => {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set: (key, value, bytes) => {
      drop(key);
      if (bytes > mostBytes) return;
      entries.set(key, { value, bytes });
      total += bytes;
      for (const oldest of entries.keys()) {
        if (total <= mostBytes) break;
        drop(oldest);
      }
    },
    dropAll: (beginning) => {
      for (const key of [...entries.keys()].filter((key) => key.startsWith(beginning))) drop(key);
    },
  };
};
