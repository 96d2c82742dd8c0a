// JSON values in duckmirror: integers that a double cannot hold exactly are bigint, other such numbers keep their digits.

/** A number with a fraction or an exponent that no double holds exactly. */
export class ExactNumber {
  /** As received: valid JSON. */
  readonly literal: string;
  constructor(literal: string) {
    this.literal = literal;
  }
  /** Throws, as JSON.stringify does for a bigint: only `writeJson` writes such a number. */
  toJSON(): never {
    throw new TypeError("JSON.stringify cannot write an exact number");
  }
}

export type JsonValue = null | boolean | number | bigint | string | ExactNumber | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);

/** A text of duckmirror's own as JSON; null for what is none, such as a line that a crash cut off. */
export const jsonOrNull = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

/** The value of a JSON text; any other text as it is. */
export const jsonOrText = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

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
