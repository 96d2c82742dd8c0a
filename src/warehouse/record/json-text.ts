// Compares JSON texts that the warehouse stores, and joins and splits the members of `_extra`. Pure. Members of a value keep their received
// order, so that the engine's own writer can be used (docs/decisions/loading.md); those of `_extra` are sorted by name.
import { parse } from "lossless-json";
import { exactJson, type JsonValue, jsonText, storable, writeJson } from "../../core/json.ts";

/** A number as its digits in a value that equals no other value. */
const digits = (text: string): JsonValue => ({ "\u0000number": text });
const isParsed = (value: unknown): value is JsonValue => value !== undefined;

/** True when two JSON texts differ only in the order of members. */
export const isSameJson = (a: string, b: string): boolean => {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  try {
    const [left, right] = [parse(a, null, digits), parse(b, null, digits)];
    if (!isParsed(left) || !isParsed(right)) return false;
    return writeJson(left, "canonical").text === writeJson(right, "canonical").text;
  } catch {
    // Nested too deep for the parser. It counts as a change, which costs one version at most.
    return false;
  }
};

/** Members of `_extra`: API name → JSON text of the value. */
export type ExtraEntries = ReadonlyMap<string, string>;

/**
 * Form of a value in `_extra`: its JSON, or `{"$json": "<exact JSON text>"}` where plain JSON cannot express it (half
 * surrogate pairs, numbers no double holds). `JSON.parse` of `$json` restores the value.
 */
export const extraText = (value: JsonValue): string => {
  const plain = jsonText(value);
  return plain.exact ? plain.text : jsonText({ $json: exactJson(value) }).text;
};

/** `_extra` as stored: members sorted by name; null when empty. */
export const joinExtra = (entries: ExtraEntries): string | null => {
  if (entries.size === 0) return null;
  const members = [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, text]) => `${JSON.stringify(storable(name))}:${text}`).join(",")}}`;
};

/** Members of an `_extra` text written by `joinExtra`, values unchanged. */
export const splitExtra = (text: string | null): Map<string, string> => {
  const entries = new Map<string, string>();
  if (text === null) return entries;
  let depth = 0;
  let inString = false;
  let start = 1;
  let name = "";
  const memberEnds = (at: number) => {
    if (name !== "") entries.set(unquoted(name), text.slice(start, at));
    start = at + 1;
    name = "";
  };
  const unquoted = (quoted: string): string => String(JSON.parse(quoted));
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (inString) {
      if (char === "\\") at++;
      else if (char === '"') inString = false;
      continue;
    }
    if (char === '"') inString = true;
    else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") {
      if (depth === 1) memberEnds(at);
      depth--;
    } else if (char === ":" && depth === 1) {
      name = text.slice(start, at);
      start = at + 1;
    } else if (char === "," && depth === 1) memberEnds(at);
  }
  return entries;
};
