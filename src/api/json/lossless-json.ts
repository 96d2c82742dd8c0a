// Parses JSON without loss: integers beyond 2^53 become bigint, other numbers that no double holds keep their digits, and
// numbers beyond the range of a double, NaN and Infinity become their text. JSON.parse reads every text without such numbers,
// that is, nearly all.
import { parse as parseExact } from "lossless-json";
import { detailOf } from "../../core/errors.ts";
import { ExactNumber, type JsonValue } from "../../core/json.ts";
import { exactNumber, isDouble } from "../../core/text/exact-json.ts";
import { cutNesting, endOfString, mendTokens, recordsApart } from "./mend-json.ts";

/** What is nested deeper stays text, so that recursive code does not run out of stack. */
export const MAX_DEPTH = 500;

/** The text is not JSON. The message says where. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
}

const QUOTE = 0x22;
const MINUS = 0x2d;
const isDigit = (code: number) => code >= 0x30 && code <= 0x39;

/** A double holds every number with fewer digits and without an exponent. */
const CAREFUL_DIGITS = 16;
const PLUS = 0x2b;
const POINT = 0x2e;

const endOfDigits = (text: string, start: number): number => {
  let end = start;
  while (isDigit(text.charCodeAt(end))) end += 1;
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

/** The first of these texts that can be parsed; if none, throws the first error, which quotes the text as it came. */
const firstThatParses = (texts: readonly (() => string)[], parse: (text: string) => JsonValue): JsonValue => {
  let first: unknown;
  for (const text of texts) {
    try {
      return parse(text());
    } catch (error) {
      first ??= error;
    }
  }
  throw first;
};

/**
 * Value of a JSON text. Skips a byte order mark. Integers that a double cannot hold exactly become bigint, other such
 * numbers `ExactNumber`; a number outside the range of a double (`1e999`), NaN and Infinity keep their text, and so does
 * what is nested deeper than MAX_DEPTH. A raw control character in a string is read. A record of the list `data` that is
 * no JSON becomes its text, so that it does not cost the other records. Throws only JsonSyntaxError.
 */
export const parseJson = (text: string): JsonValue => {
  const bare = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  if (bare.trim() === "") throw new JsonSyntaxError("the text is empty");
  const { depth, exact } = survey(bare);
  const flat = depth > MAX_DEPTH ? cutNesting(bare, MAX_DEPTH) : bare;
  if (flat === null) throw new JsonSyntaxError(`nested more than ${MAX_DEPTH} levels deep`);
  const mended = () => mendTokens(flat) ?? flat;
  const readings = [() => flat, mended, () => recordsApart(mended()) ?? flat];
  return firstThatParses(readings, (changed) => parseStrictly(changed, exact));
};
