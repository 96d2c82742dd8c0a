// JSON values in duckmirror, and a writer that loses no number: integers that a double cannot hold exactly are bigint, other such numbers
// keep their digits. api/lossless-json.ts parses them. Pure.

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

/** True for a record of a response that is no JSON: `parseJson` passes on its text. */
export const isUnreadRecord = (value: JsonValue): value is string => typeof value === "string" && value.startsWith("{");

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

// Reads the literal of a JSON number without losing a digit: a number where a double holds it, else a bigint, else its
// digits. Pure.

const LITERAL = /^(-?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/** BigInt takes quadratic time, so a longer number keeps its text. */
const LONGEST_COMPUTED = 1_000;

/** Significant digits and the power of ten of the last one, the same text for equal numbers. */
const decimalOf = (literal: string): string | null => {
  const [, sign, whole = "", fraction = "", power = "0"] = LITERAL.exec(literal) ?? [];
  if (sign === undefined) return null;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const exponent = BigInt(power) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${exponent}`;
};

/** True if the double next to a number is written with the same decimal value, so no digit is lost. */
export const isDouble = (literal: string): boolean => {
  const value = Number(literal);
  if (!Number.isFinite(value)) return false;
  const written = String(value);
  if (written === literal) return true;
  return literal.length <= LONGEST_COMPUTED && decimalOf(written) === decimalOf(literal);
};

/** The value of a JSON number. A number beyond the range of a double keeps its text, which no JSON reader takes as a number. */
export const exactNumber = (literal: string): JsonValue => {
  if (/^-?\d+$/.test(literal)) {
    if (Number.isSafeInteger(Number(literal))) return Number(literal);
    if (literal.length <= LONGEST_COMPUTED) return BigInt(literal);
  }
  if (!Number.isFinite(Number(literal))) return literal;
  return isDouble(literal) ? Number(literal) : new ExactNumber(literal);
};

// Values as text where the engine's own writer cannot, which takes no bigint. The only writer of its kind keeps a stack instead of calling
// itself: 15.4 µs of processor time for a record of 1.8 KB, 16.7 with recursion (`npx tsx bench/json-writer.ts`), and no depth that it
// cannot write, where recursion ends before 10,000 levels. Responses are not that deep (`MAX_DEPTH` of lossless-json.ts).

declare global {
  interface String {
    /** Part of every Node from 20 on; TypeScript's ES2023 lacks it. */
    isWellFormed(): boolean;
  }
}

/** Half of a surrogate pair: legal in a JavaScript string and in JSON's grammar, but not in UTF-8. */
const LONE_SURROGATES = /\p{Surrogate}/gu;

/** The text with every half surrogate pair replaced by U+FFFD. */
export const storable = (text: string): string => text.replace(LONE_SURROGATES, "\ufffd");

export interface JsonText {
  readonly text: string;
  /** False when something was replaced so that every JSON reader accepts the text. */
  readonly exact: boolean;
}

interface Frame {
  readonly close: "]" | "}";
  readonly names: readonly string[] | null;
  readonly values: readonly JsonValue[];
  next: number;
}

const frameOf = (value: readonly JsonValue[] | JsonObject, sorted: boolean): Frame => {
  if (!isJsonObject(value)) return { close: "]", names: null, values: value, next: 0 };
  const names = sorted ? Object.keys(value).sort() : Object.keys(value);
  return { close: "}", names, values: names.map((name) => value[name] ?? null), next: 0 };
};

/** Fit to be stored; with everything a value holds, escaped where need be; storable, with members sorted by name. */
export type JsonForm = "storable" | "escaped" | "canonical";

/** Text of a value in one of the forms. */
export const writeJson = (value: JsonValue, form: JsonForm): JsonText => {
  let exact = true;
  let out = "";
  const quote = (text: string): string => {
    if (form === "escaped" || text.isWellFormed()) return JSON.stringify(text);
    exact = false;
    return JSON.stringify(storable(text));
  };
  const number = (n: number): string => {
    if (Number.isFinite(n)) return String(n);
    // A reader that finds 1e999 rejects the whole document, so only the escaped form writes it.
    if (form === "escaped") return n > 0 ? "1e999" : "-1e999";
    exact = false;
    return "null";
  };
  const stack: Frame[] = [];
  const emit = (item: JsonValue): void => {
    if (typeof item === "string") out += quote(item);
    else if (typeof item === "number") out += number(item);
    else if (item instanceof ExactNumber) out += item.literal;
    else if (typeof item === "object" && item !== null) {
      const frame = frameOf(item, form === "canonical");
      out += frame.names === null ? "[" : "{";
      stack.push(frame);
    } else out += String(item);
  };
  emit(value);
  for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
    const at = frame.next++;
    if (at >= frame.values.length) {
      out += frame.close;
      stack.pop();
      continue;
    }
    if (at > 0) out += ",";
    if (frame.names !== null) out += `${quote(frame.names[at] ?? "")}:`;
    emit(frame.values[at] ?? null);
  }
  return { text: out, exact };
};

/** Exact JSON text with half surrogate pairs escaped, and numbers beyond a double as 1e999. */
export const exactJson = (value: JsonValue): string => writeJson(value, "escaped").text;

/** Possible escape of half a surrogate pair; a second test decides. */
const MAYBE_SURROGATE = /\\ud[89a-f]/;

/**
 * Text of a value that every JSON reader accepts, by the engine's own writer where it can. Half surrogate pairs become
 * U+FFFD, and then `exact` is false.
 */
export const jsonText = (value: JsonValue): JsonText => {
  try {
    const text = JSON.stringify(value);
    if (!MAYBE_SURROGATE.test(text)) return { text, exact: true };
  } catch {
    // A bigint or an exact number, or nested deeper than the engine's stack allows.
  }
  return writeJson(value, "storable");
};
