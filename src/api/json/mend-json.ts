// Mends almost valid JSON, so that a page loses one record or value at most, and is never lost itself: raw control
// characters, NaN, values nested too deep, records that are no JSON. Works on text only. Pure.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const opens = (code: number) => code === 0x7b || code === 0x5b;
const closes = (code: number) => code === 0x7d || code === 0x5d;

/** Index after the string that starts at `open`; the text's length when the string never ends. */
export const endOfString = (text: string, open: number): number => {
  let close = text.indexOf('"', open + 1);
  while (close !== -1) {
    let backslashes = 0;
    while (text.charCodeAt(close - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return close + 1;
    close = text.indexOf('"', close + 1);
  }
  return text.length;
};

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
export const cutNesting = (text: string, levels: number): string | null => {
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
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const CONTROL = /[\u0000-\u001f]/g;

/**
 * The text with NaN and Infinity in quotes and raw control characters of strings escaped, as Python and other programs
 * write them although JSON has neither; null: it holds none.
 */
export const mendTokens = (text: string): string | null => {
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

const DATA = /"data"\s*:\s*$/;

/** Places of the items of the list `data` of an envelope, and of its end; null: it is not found, or not closed. */
const itemsOf = (text: string): readonly (readonly [from: number, to: number])[] | null => {
  const items: [number, number][] = [];
  let depth = 0;
  let from = -1;
  let isWhole = false;
  scan(text, (at, code) => {
    if (from >= 0 && depth === 2 && (code === 0x2c || code === 0x5d)) {
      items.push([from, at]);
      from = at + 1;
      isWhole = code === 0x5d;
      if (isWhole) return false;
    }
    if (opens(code)) {
      depth += 1;
      if (code === 0x5b && depth === 2 && DATA.test(text.slice(Math.max(0, at - SPACE), at))) from = at + 1;
    } else if (closes(code)) depth -= 1;
    return at + 1;
  });
  return isWhole ? items : null;
};

/**
 * The text with each record of the list `data` that is no JSON as a string of its text, and without empty places between
 * commas; null: the list is not found, or none of its records can be read.
 */
export const recordsApart = (text: string): string | null => {
  const items = itemsOf(text);
  if (items === null) return null;
  const records = items.map(([from, to]) => text.slice(from, to).trim()).filter((record) => record !== "");
  const read = records.map((record) => (isJson(record) ? record : JSON.stringify(record)));
  const [first, last] = [items[0], items.at(-1)];
  if (first === undefined || last === undefined || !read.some((record, index) => record === records[index]))
    return null;
  return `${text.slice(0, first[0])}${read.join(",")}${text.slice(last[1])}`;
};
