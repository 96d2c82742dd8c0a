// Reads the literal of a JSON number without losing a digit: a number where a double holds it, else a bigint, else its
// digits. Pure.
import { ExactNumber, type JsonValue } from "../json.ts";

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
