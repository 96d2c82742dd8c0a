// How many values a JSON text holds, before it is parsed: each takes memory, however few bytes it has in the text. PURE.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENS = [0x5b, 0x7b];

/** True for a text with more values than `most`; names of fields and commas inside strings do not count. */
export const hasMoreValues = (text: string, most: number): boolean => {
  // Each value takes two characters at least, with its comma.
  if (text.length < 2 * most) return false;
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      do at = text.indexOf('"', at + 1);
      while (at > 0 && isEscaped(text, at));
      // The text breaks off inside a string.
      if (at < 0) return false;
    } else if (code === COMMA || OPENS.includes(code)) {
      count += 1;
      if (count > most) return true;
    }
  }
  return false;
};

/** True if an odd number of backslashes precedes the position. */
const isEscaped = (text: string, at: number): boolean => {
  let start = at;
  while (text.charCodeAt(start - 1) === BACKSLASH) start -= 1;
  return (at - start) % 2 === 1;
};
