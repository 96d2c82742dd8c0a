// Server keys as people write them: how long, and how hard to guess. PURE.

const LEAST_BITS = 48;

/** Bits of a text by how often each of its characters occurs: little for `aaaa…`, about 5.5 a character for Base64. */
const bitsOf = (text: string): number => {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()].reduce((bits, count) => bits - count * Math.log2(count / text.length), 0);
};

/** What is wrong with a key; null: nothing. Never repeats it. */
export const keyProblem = (text: string): string | null => {
  if (!/^[\x21-\x7e]{16,}$/.test(text)) return "a key has 16 or more characters and no spaces";
  return bitsOf(text) < LEAST_BITS ? "the key is easy to guess; take one from `openssl rand -hex 32`" : null;
};
