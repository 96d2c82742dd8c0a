// Seeded randomness: the same seed gives the same sequence on every machine. PURE except for its own state.

export interface Random {
  /** [0, 1). */
  next(): number;
  /** Whole number, both ends included. */
  int(min: number, max: number): number;
  /** True with probability `p`. */
  chance(p: number): boolean;
  /** One element. Throws RangeError on an empty list. */
  pick<T>(list: readonly T[]): T;
  /** `count` distinct elements at most, in random order. */
  sample<T>(list: readonly T[], count: number): T[];
  /** The value with probability `p`, else undefined, for an optional field. */
  maybe<T>(p: number, value: T): T | undefined;
  /** Opaque text id of `length` letters and digits. */
  id(length: number): string;
}

const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/** 32-bit hash of a text (FNV-1a, then mixed). */
export const hash = (text: string): number => {
  let state = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) state = Math.imul(state ^ text.charCodeAt(index), 0x01000193);
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
};

/** An independent sequence for `seed`, e.g. `7/contacts/12`. Algorithm: sfc32. */
export const createRandom = (seed: string): Random => {
  let a = hash(`${seed}:a`);
  let b = hash(`${seed}:b`);
  let c = hash(`${seed}:c`);
  let counter = 1;
  const next = () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 4_294_967_296;
  };
  for (let round = 0; round < 12; round++) next();
  const int = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  const pick = <T>(list: readonly T[]): T => {
    if (list.length === 0) throw new RangeError("cannot pick from an empty list");
    const chosen = list[int(0, list.length - 1)];
    if (chosen === undefined) throw new RangeError("cannot pick from a list with holes");
    return chosen;
  };
  return {
    next,
    int,
    pick,
    chance: (p) => next() < p,
    sample: (list, count) => {
      const rest = [...list];
      const taken: (typeof rest)[number][] = [];
      while (taken.length < count && rest.length > 0) taken.push(...rest.splice(int(0, rest.length - 1), 1));
      return taken;
    },
    maybe: (p, value) => (next() < p ? value : undefined),
    id: (length) => Array.from({ length }, () => LETTERS.charAt(int(0, LETTERS.length - 1))).join(""),
  };
};
