// Parses JSON without loss: integers beyond 2^53 become bigint; numbers beyond the range of a double, NaN and Infinity become
// their text. JSON.parse reads every text without such numbers, that is, nearly all.
import { parse as parseExact } from "lossless-json";
import { detailOf } from "../core/errors.ts";
import type { JsonValue } from "../core/json.ts";

/** Deeper nesting is rejected, so that recursive code does not run out of stack. */
export const MAX_DEPTH = 500;

/** The text is not JSON, or nested deeper than MAX_DEPTH. The message says which, and where. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const isDigit = (code: number) => code >= 0x30 && code <= 0x39;

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

/** A double holds every number with fewer digits before the point and fewer digits in the exponent. */
const CAREFUL_DIGITS = 16;
const CAREFUL_EXPONENT_DIGITS = 3;
const PLUS = 0x2b;
const POINT = 0x2e;

const endOfDigits = (text: string, start: number): number => {
  let end = start;
  while (isDigit(text.charCodeAt(end))) end += 1;
  return end;
};

/** End of the number that starts at `start`; negative when a double may not hold it. */
const endOfNumber = (text: string, start: number): number => {
  let end = endOfDigits(text, start);
  let careful = end - start >= CAREFUL_DIGITS;
  if (text.charCodeAt(end) === POINT) end = endOfDigits(text, end + 1);
  if ((text.charCodeAt(end) | 0x20) === 0x65) {
    const sign = text.charCodeAt(end + 1);
    const digits = sign === PLUS || sign === MINUS ? end + 2 : end + 1;
    end = endOfDigits(text, digits);
    careful ||= sign !== MINUS && end - digits >= CAREFUL_EXPONENT_DIGITS;
  }
  return careful ? -end : end;
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
      continue;
    }
    if (isDigit(code)) {
      const end = endOfNumber(text, at);
      if (end < 0) exact = true;
      at = Math.abs(end);
      continue;
    }
    if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (code === 0x7d || code === 0x5d) {
      depth -= 1;
    }
    at += 1;
  }
  return { depth: deepest, exact };
};

const exactNumber = (literal: string): number | bigint | string => {
  const value = Number(literal);
  // BigInt takes quadratic time, so a number longer than any real id keeps its text.
  const isInteger = literal.length <= 1_000 && /^-?\d+$/.test(literal);
  if (isInteger) return Number.isSafeInteger(value) ? value : BigInt(literal);
  return Number.isFinite(value) ? value : literal;
};

const NOT_NUMBER = /-?(?:NaN|Infinity)\b/y;
/** First characters of the words of NOT_NUMBER. */
const MAY_BE_NOT_NUMBER: ReadonlySet<number> = new Set([..."-NI"].map((character) => character.charCodeAt(0)));

/**
 * The text with NaN and Infinity in quotes; null: it holds none outside strings. Python and other programs write them,
 * although JSON has no such numbers.
 */
const quoteNotNumbers = (text: string): string | null => {
  const parts: string[] = [];
  let copied = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      continue;
    }
    if (!MAY_BE_NOT_NUMBER.has(code)) {
      at += 1;
      continue;
    }
    NOT_NUMBER.lastIndex = at;
    const word = NOT_NUMBER.exec(text)?.[0];
    if (word !== undefined) {
      parts.push(text.slice(copied, at), `"${word}"`);
      copied = at + word.length;
    }
    at += word?.length ?? 1;
  }
  return parts.length === 0 ? null : parts.join("") + text.slice(copied);
};

/** True when a parsed value has only JSON types. */
const isJsonValue = (value: unknown): value is JsonValue => {
  if (value === null) return true;
  if (Array.isArray(value)) return value.every(isJsonValue);
  if (typeof value === "object") return Object.values(value).every(isJsonValue);
  return ["string", "number", "bigint", "boolean"].includes(typeof value);
};

const parseLosslessly = (text: string): JsonValue => {
  // Of a repeated name the last value counts, as in JSON.parse.
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

/**
 * Value of a JSON text. Skips a byte order mark. Integers that a double cannot hold exactly become bigint; a number
 * outside the range of a double (`1e999`), NaN and Infinity keep their text. Throws only JsonSyntaxError.
 */
export const parseJson = (text: string): JsonValue => {
  const bare = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  if (bare.trim() === "") throw new JsonSyntaxError("the text is empty");
  const { depth, exact } = survey(bare);
  if (depth > MAX_DEPTH) throw new JsonSyntaxError(`nested more than ${MAX_DEPTH} levels deep`);
  try {
    return parseStrictly(bare, exact);
  } catch (error) {
    const quoted = quoteNotNumbers(bare);
    try {
      if (quoted !== null) return parseStrictly(quoted, exact);
    } catch {
      // The first error quotes the text as it came.
    }
    throw error;
  }
};
