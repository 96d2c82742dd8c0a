// Parses lists of items with parameters, as in structured header fields: `"name";q=100;w=60, "other";q=5`. More
// tolerant than RFC 9651, because real headers are malformed. Pure.

export interface StructuredItem {
  /** `limit` in `limit=100`; null for an item without a name. */
  readonly key: string | null;
  /** The item itself, without quotes. */
  readonly value: string;
  readonly params: ReadonlyMap<string, string>;
}

/** Splits at a separator outside quotes. */
const split = (text: string, separator: "," | ";"): string[] => {
  const parts: string[] = [];
  let quoted = false;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (quoted && char === "\\") at += 1;
    else if (char === '"') quoted = !quoted;
    else if (char === separator && !quoted) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...parts, text.slice(from)].map((part) => part.trim()).filter((part) => part !== "");
};

const unquote = (text: string): string =>
  text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1).replace(/\\(["\\])/g, "$1") : text;

/** `name=value`, `name` or a bare value. */
const pair = (text: string): { readonly key: string | null; readonly value: string } => {
  const match = /^([A-Za-z*][\w.*-]*)\s*=\s*(.*)$/s.exec(text);
  return { key: match?.[1]?.toLowerCase() ?? null, value: unquote((match?.[2] ?? text).trim()) };
};

/** Items of a header, in order, without malformed ones. Throws nothing. */
export const parseItems = (text: string): StructuredItem[] =>
  split(text, ",").flatMap((entry) => {
    const [head, ...tail] = split(entry, ";");
    if (head === undefined) return [];
    const params = new Map(tail.map(pair).flatMap(({ key, value }) => (key === null ? [] : [[key, value] as const])));
    return [{ ...pair(head), params }];
  });
