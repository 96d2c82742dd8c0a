// Seeded chance. Every decision has a name, so that one more decision does not change the others of a seed.

export interface Chance {
  /** In [0, 1). */
  next(): number;
  /** Whole number from `least` to `most`, both included. */
  int(least: number, most: number): number;
  /** True so often, 0 to 1. */
  often(share: number): boolean;
  pick<const T>(options: readonly [T, ...T[]]): T;
  /** Picks by weight. */
  weigh<const T>(...options: readonly (readonly [weight: number, option: T])[]): T;
  /** Another source for one purpose; the same name gives the same source. */
  named(name: string): Chance;
}

/** 32 bits out of a text (FNV-1a, then mixed). */
export const hashOf = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
};

export const chanceOf = (seed: string): Chance => {
  let state = hashOf(seed);
  // mulberry32
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const int = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    int,
    often: (share) => next() < share,
    pick: (options) => options[int(0, options.length - 1)] ?? options[0],
    weigh: (...options) => {
      let left = next() * options.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, option] of options) {
        left -= weight;
        if (left < 0) return option;
      }
      const [last] = options.slice(-1);
      if (last === undefined) throw new TypeError("nothing to choose from");
      return last[1];
    },
    named: (name) => chanceOf(`${seed}/${name}`),
  };
};
