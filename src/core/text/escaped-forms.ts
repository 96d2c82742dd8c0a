// Finds a text in every form in which it may be written, for secrets and erased people: plain, percent-encoded in a URL, escaped in JSON,
// character by character. PURE.
// Writers differ in what they escape: `@` or `%40`, `%2F` or `%2f`, a space as `%20` or `+`, `/` or `\/`. ASCII letters and digits are the
// same in every form. The sources of patterns are valid in JavaScript (also with the flag `u`) and in RE2.

const escapedForRegex = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** Hexadecimal digits in upper or lower case. */
const hex = (value: number, digits: number): string =>
  value
    .toString(16)
    .padStart(digits, "0")
    .replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);

/** One `%` may be encoded itself, where a URL is part of another. */
const PERCENT = "%(?:25)?";
/** JSON inside JSON escapes the backslash, too. */
const BACKSLASHES = String.raw`\\{1,3}`;
/** Signs that JSON may write after a backslash. */
const JSON_ESCAPES: ReadonlySet<string> = new Set(['"', "\\", "/"]);

const formsOfChar = (char: string, plain: string): readonly string[] => {
  const percent = [...Buffer.from(char)].map((byte) => `${PERCENT}${hex(byte, 2)}`).join("");
  const units = Array.from({ length: char.length }, (_, at) => `${BACKSLASHES}u${hex(char.charCodeAt(at), 4)}`);
  // A control character as in JSON: \n, \t.
  const control = char < " " ? [String.raw`\\{0,2}${escapedForRegex(JSON.stringify(char).slice(1, -1))}`] : [];
  const sign = `${JSON_ESCAPES.has(char) ? String.raw`\\{0,3}` : ""}${escapedForRegex(plain)}`;
  return [sign, percent, units.join(""), ...control];
};

const formsWith = (text: string, plainOf: (char: string) => string): string =>
  [...text]
    .map((char) => {
      if (/^[0-9A-Za-z]$/.test(char)) return char;
      const forms = formsOfChar(char, plainOf(char));
      return `(?:${[...forms, ...(char === " " ? formsOfChar("+", "+") : [])].join("|")})`;
    })
    .join("");

/** Source of a regular expression for every form of a text. */
export const formsOf = (text: string): string => formsWith(text, (char) => char);

/** The same for bytes in UTF-8 that were read as Latin-1. */
export const formsInBytes = (text: string): string => formsWith(text, (char) => Buffer.from(char).toString("latin1"));

/** The longest part that is the same in every form, quicker to search for; empty if the text has no ASCII letter or digit. */
export const samePartOf = (text: string): string =>
  (text.match(/[0-9A-Za-z]+/g) ?? []).reduce((longest, part) => (part.length > longest.length ? part : longest), "");

/** No form of a text is longer, in bytes: `%25` and two digits for each of three bytes of a character. */
export const longestForm = (text: string): number => 15 * text.length;

/** Source for an escaped character that is neither letter nor digit: a word begins after it, as after `%2F` or `\n`. */
export const ESCAPED_SIGN = String.raw`(?:(?:${PERCENT}|\\u00)(?:[01][0-9a-fA-F]|2[0-9a-fA-F]|3[a-fA-F]|40|5[b-fB-F]|60|7[b-fB-F])|\\[bfnrt])`;

const ENDS_WITH_LETTER = /[\p{L}\p{N}]$/u;
const ENDS_WITH_SIGN = new RegExp(`${ESCAPED_SIGN}$`);
const STARTS_WITH_LETTER = /^[\p{L}\p{N}]/u;
/** Characters before a word that show what it follows. */
const BEFORE = 8;

/** Whether no letter or digit is next to the part of the text from `start` to `end`. */
export const isWord = (text: string, start: number, end: number): boolean => {
  const before = text.slice(Math.max(0, start - BEFORE), start);
  if (ENDS_WITH_LETTER.test(before) && !ENDS_WITH_SIGN.test(before)) return false;
  return !STARTS_WITH_LETTER.test(text.slice(end, end + 2));
};
