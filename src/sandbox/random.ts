// Random numbers from a seed, for the sandbox: the same seed gives the same sequence on every machine. PURE except for its own state.

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

const EMPTY = 0x811c9dc5;

/** State of FNV-1a after more text. */
const read = (state: number, text: string): number => {
  let after = state;
  for (let index = 0; index < text.length; index++) after = Math.imul(after ^ text.charCodeAt(index), 0x01000193);
  return after;
};

const mixed = (state: number): number => {
  let bits = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
};

/** 32-bit hash of a text (FNV-1a, then mixed). */
export const hash = (text: string): number => mixed(read(EMPTY, text));

/** Positions of `count` elements at most, each drawn from those that are left of `length`. */
const draw = (length: number, count: number, int: Random["int"]): readonly number[] => {
  const drawn: number[] = [];
  const ascending: number[] = [];
  while (drawn.length < count && drawn.length < length) {
    let at = int(0, length - drawn.length - 1);
    let before = 0;
    for (; (ascending[before] ?? length) <= at; before++) at++;
    ascending.splice(before, 0, at);
    drawn.push(at);
  }
  return drawn;
};

/** An independent sequence for `seed`, e.g. `7/contacts/12`. Algorithm: sfc32. */
export const createRandom = (seed: string): Random => {
  const state = read(EMPTY, `${seed}:`);
  let a = mixed(read(state, "a"));
  let b = mixed(read(state, "b"));
  let c = mixed(read(state, "c"));
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
      const taken: (typeof list)[number][] = [];
      for (const at of draw(list.length, count, int)) {
        const item = list[at];
        if (item !== undefined) taken.push(item);
      }
      return taken;
    },
    maybe: (p, value) => (next() < p ? value : undefined),
    id: (length) => {
      const codes: number[] = [];
      while (codes.length < length) codes.push(LETTERS.charCodeAt(int(0, LETTERS.length - 1)));
      return String.fromCharCode(...codes);
    },
  };
};
