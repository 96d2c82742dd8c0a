// Parses JSON without loss: integers beyond 2^53 become bigint, other numbers that no double holds keep their digits, and
// numbers beyond the range of a double, NaN and Infinity become their text. JSON.parse reads every text without such numbers,
// that is, nearly all. What is almost JSON is mended. Pure.
import { parse as parseExact } from "lossless-json";
import { ANALYSIS } from "../catalog/streams.ts";
import { detailOf } from "../core/errors.ts";
import { ExactNumber, exactNumber, isDouble, type JsonValue } from "../core/json.ts";

/** What is nested deeper stays text, so that recursive code does not run out of stack. */
export const MAX_DEPTH = 500;

/** The text is not JSON. The message says where. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const COMMA = 0x2c;
const ZERO = 0x30;
const NINE = 0x39;
const opens = (code: number) => code === 0x7b || code === 0x5b;
const closes = (code: number) => code === 0x7d || code === 0x5d;

/** A double holds every number with fewer digits and without an exponent. */
const CAREFUL_DIGITS = 16;

/** Index after the string that starts at `open`; the text's length when the string never ends. */
const endOfString = (text: string, open: number): number => {
  let close = text.indexOf('"', open + 1);
  while (close !== -1) {
    let backslashes = 0;
    while (text.charCodeAt(close - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return close + 1;
    close = text.indexOf('"', close + 1);
  }
  return text.length;
};

const endOfDigits = (text: string, start: number): number => {
  let end = start;
  while (text.charCodeAt(end) >= ZERO && text.charCodeAt(end) <= NINE) end += 1;
  return end;
};

/** End of the number that starts at `start`; negative when a double does not hold it. */
const endOfNumber = (text: string, start: number): number => {
  let end = endOfDigits(text, start);
  const whole = end - start;
  if (text.charCodeAt(end) === POINT) end = endOfDigits(text, end + 1);
  let careful = end - start >= CAREFUL_DIGITS;
  let isInteger = end - start === whole;
  if ((text.charCodeAt(end) | 0x20) === 0x65) {
    const sign = text.charCodeAt(end + 1);
    end = endOfDigits(text, sign === PLUS || sign === MINUS ? end + 2 : end + 1);
    careful = true;
    isInteger = false;
  }
  if (!careful) return end;
  const literal = text.slice(start, end);
  // An integer beyond 2^53 is a bigint even where a double holds it.
  return (isInteger ? Number.isSafeInteger(Number(literal)) : isDouble(literal)) ? end : -end;
};

/** One pass outside strings: the deepest nesting, and whether a number needs the exact parser. */
const survey = (text: string): { depth: number; exact: boolean } => {
  let depth = 0;
  let deepest = 0;
  let exact = false;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code >= ZERO && code <= NINE) {
      const end = endOfNumber(text, at);
      if (end < 0) exact = true;
      at = Math.abs(end);
    } else {
      if (code === 0x7b || code === 0x5b) depth += 1;
      else if (code === 0x7d || code === 0x5d) depth -= 1;
      if (depth > deepest) deepest = depth;
      at += 1;
    }
  }
  return { depth: deepest, exact };
};

// Mends almost valid JSON, so that a page loses one record or value at most, and is never lost itself: raw control
// characters, NaN, values nested too deep, records and other parts of an envelope that are no JSON. Works on text only.

/** Calls `visit` with each position outside strings, until it returns false; `visitString` with the ends of each string. */
const scan = (
  text: string,
  visit: (at: number, code: number) => number | false,
  visitString: (from: number, to: number) => void = () => undefined,
): void => {
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      visitString(at, end);
      at = end;
      continue;
    }
    const next = visit(at, code);
    if (next === false) return;
    at = next;
  }
};

/** Replaces parts of a text, which are added in order. */
const patches = (text: string) => {
  const parts: string[] = [];
  let copied = 0;
  return {
    replace(from: number, to: number, by: string): void {
      parts.push(text.slice(copied, from), by);
      copied = to;
    },
    /** The new text; null: nothing was replaced. */
    result: (): string | null => (parts.length === 0 ? null : parts.join("") + text.slice(copied)),
  };
};

/**
 * The text with what lies deeper than `levels` as strings of its JSON text; null: the brackets do not match. Unlike the
 * whole text, such a part is not checked.
 */
const cutNesting = (text: string, levels: number): string | null => {
  const patch = patches(text);
  let depth = 0;
  let start = 0;
  scan(text, (at, code) => {
    if (opens(code)) {
      depth += 1;
      if (depth === levels + 1) start = at;
    } else if (closes(code)) {
      if (depth === levels + 1) patch.replace(start, at + 1, JSON.stringify(text.slice(start, at + 1)));
      depth -= 1;
    }
    return depth < 0 ? false : at + 1;
  });
  return depth === 0 ? patch.result() : null;
};

const NOT_NUMBER = /-?(?:NaN|Infinity)\b/y;
/** First characters of the words of NOT_NUMBER. */
const MAY_BE_NOT_NUMBER: ReadonlySet<number> = new Set([..."-NI"].map((character) => character.charCodeAt(0)));
/** Every character before the space. */
const CONTROL = /[^ -\uffff]/g;

/**
 * The text with NaN and Infinity in quotes and raw control characters of strings escaped, as Python and other programs
 * write them although JSON has neither; null: it holds none.
 */
const mendTokens = (text: string): string | null => {
  const patch = patches(text);
  scan(
    text,
    (at, code) => {
      if (!MAY_BE_NOT_NUMBER.has(code)) return at + 1;
      NOT_NUMBER.lastIndex = at;
      const word = NOT_NUMBER.exec(text)?.[0];
      if (word === undefined) return at + 1;
      patch.replace(at, at + word.length, `"${word}"`);
      return at + word.length;
    },
    (from, to) => {
      const string = text.slice(from, to);
      const escaped = string.replace(CONTROL, (character) => JSON.stringify(character).slice(1, -1));
      if (escaped !== string) patch.replace(from, to, escaped);
    },
  );
  return patch.result();
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Texts between the commas of an object or array, without empty ones; null: the text is no whole object or array. */
const partsOf = (text: string, brackets: "{}" | "[]"): readonly string[] | null => {
  const parts: string[] = [];
  let depth = 0;
  let from = 1;
  scan(text, (at, code) => {
    if (opens(code)) depth += 1;
    else if (closes(code)) depth -= 1;
    if (depth === 0 || (depth === 1 && code === COMMA)) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
    return depth > 0 && at + 1;
  });
  const isWhole = from === text.length && text.startsWith(brackets.charAt(0)) && text.endsWith(brackets.charAt(1));
  return isWhole ? parts.filter((part) => part !== "") : null;
};

/** The text if it is JSON, else a string that holds it. */
const asJson = (text: string): string => (isJson(text) ? text : JSON.stringify(text));

const MEMBER = /^"([^"\\]*)"\s*:\s*/;

/** An object with its values as `read` gives them; null: it is no whole object, or `read` refuses one of them. */
const readMembers = (text: string, read: (value: string, name: string) => string | null): string | null => {
  const parts = partsOf(text, "{}");
  if (parts === null) return null;
  const members: string[] = [];
  for (const part of parts) {
    const [before, name] = MEMBER.exec(part) ?? [];
    const value = before === undefined || name === undefined ? null : read(part.slice(before.length), name);
    if (value === null) return null;
    members.push(`"${name}":${value}`);
  }
  return `{${members.join(",")}}`;
};

/** A list with each of its records apart; null: it is no whole list, or fewer than `least` can be read. */
const readList = (text: string, least: 0 | 1): string | null => {
  const records = partsOf(text, "[]");
  if (records === null) return null;
  const read = records.map(asJson);
  return least === 0 || read.some((record, index) => record === records[index]) ? `[${read.join(",")}]` : null;
};

/** A map of records by id; null: it is none, or none of them can be read. */
const readMap = (text: string): string | null => {
  let isAnyRead = false;
  const map = readMembers(text, (record) => {
    if (!record.startsWith("{")) return null;
    const read = asJson(record);
    isAnyRead ||= read === record;
    return read;
  });
  return isAnyRead ? map : null;
};

/** A member of `included`: a list, a map or one record. The parts of an analysis are no records. */
const readEmbedded = (text: string, name: string): string => {
  if (name === ANALYSIS || isJson(text)) return asJson(text);
  return readList(text, 0) ?? readMap(text) ?? JSON.stringify(text);
};

/**
 * The text of an envelope in which the smallest record or other part around each fault is a string of its text: a record of
 * `data` or `included`, or another object or list of the envelope. Empty places between commas are left out. null: the
 * envelope is not whole, or `data` cannot be read, not even one of its records.
 */
const partsApart = (text: string): string | null =>
  readMembers(text.trim(), (value, name) => {
    if (isJson(value)) return value;
    if (name === "data") return readList(value, 1);
    if (name === "included") return readMembers(value, readEmbedded);
    return opens(value.charCodeAt(0)) ? JSON.stringify(value) : null;
  });

// Parses the text, mended only if it has to be.

/** True when a parsed value has only JSON types. */
const isJsonValue = (value: unknown): value is JsonValue => {
  if (value === null) return true;
  if (Array.isArray(value)) return value.every(isJsonValue);
  if (value instanceof ExactNumber) return true;
  if (typeof value === "object") return Object.values(value).every(isJsonValue);
  return ["string", "number", "bigint", "boolean"].includes(typeof value);
};

const parseLosslessly = (text: string): JsonValue => {
  // If a name is repeated, its last value counts, as in JSON.parse.
  const value = parseExact(text, null, { parseNumber: exactNumber, onDuplicateKey: ({ newValue }) => newValue });
  if (!isJsonValue(value)) throw new JsonSyntaxError("not a JSON value");
  return value;
};

const parseStrictly = (text: string, exact: boolean): JsonValue => {
  try {
    if (exact) return parseLosslessly(text);
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch (error) {
    throw error instanceof JsonSyntaxError ? error : new JsonSyntaxError(detailOf(error));
  }
};

/** The value of a text that is no JSON, once it is mended; throws `error` if it cannot be. */
const parseMended = (text: string, exact: boolean, error: unknown): JsonValue => {
  const mended = mendTokens(text) ?? text;
  for (const changed of [mended, partsApart(mended)]) {
    try {
      if (changed !== null && changed !== text) return parseStrictly(changed, exact);
    } catch {
      // The next one may do.
    }
  }
  throw error;
};

/**
 * Value of a JSON text. Skips a byte order mark. Integers that a double cannot hold exactly become bigint, other such
 * numbers `ExactNumber`; a number outside the range of a double (`1e999`), NaN and Infinity keep their text, and so does
 * what is nested deeper than MAX_DEPTH. A raw control character in a string is read. Of an envelope, a record
 * of `data` or `included`, `usage` or `meta` that is no JSON becomes its text, so that it does not cost the rest. Throws
 * only JsonSyntaxError.
 */
export const parseJson = (text: string): JsonValue => {
  const bare = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  if (bare.trim() === "") throw new JsonSyntaxError("the text is empty");
  const { depth, exact } = survey(bare);
  const flat = depth > MAX_DEPTH ? cutNesting(bare, MAX_DEPTH) : bare;
  if (flat === null) throw new JsonSyntaxError(`nested more than ${MAX_DEPTH} levels deep`);
  try {
    return parseStrictly(flat, exact);
  } catch (error) {
    // If nothing helps, this error counts: it quotes the text as it came.
    return parseMended(flat, exact, error);
  }
};
