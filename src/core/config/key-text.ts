// Checks server keys that people choose: their length, and how hard they are to guess. PURE.

const LEAST_BITS = 48;

/** Bits of a text by the frequency of its characters: few for `aaaa…`, about 5.5 per character for Base64. */
const bitsOf = (text: string): number => {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()].reduce((bits, count) => bits - count * Math.log2(count / text.length), 0);
};

/** The problem with a key; null: none. Never contains the key. */
export const keyProblem = (text: string): string | null => {
  if (!/^[\x21-\x7e]{16,}$/.test(text)) return "a key has 16 or more characters and no spaces";
  return bitsOf(text) < LEAST_BITS ? "the key is easy to guess; take one from `openssl rand -hex 32`" : null;
};
