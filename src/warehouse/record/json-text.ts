// Writes JSON values as text that every JSON reader accepts, with exact integers, and compares two such texts. Pure.
// Members keep their received order, so that the engine's own writer can be used (decision 0001).
import { parse } from "lossless-json";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";

declare global {
  interface String {
    /** Part of every Node from 20 on; TypeScript's ES2023 lacks it. */
    isWellFormed(): boolean;
  }
}

/** Half of a surrogate pair: legal in a JavaScript string and in JSON's grammar, but not in UTF-8. */
const LONE_SURROGATES = /\p{Surrogate}/gu;
/** Possible escape of half a surrogate pair; a second test decides. */
const MAYBE_SURROGATE = /\\ud[89a-f]/;

/** True when the text can be stored exactly as UTF-8. */
export const isStorable = (text: string): boolean => text.isWellFormed();

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

type Form = "storable" | "escaped" | "canonical";

/** Not recursive: a body nested a million levels deep costs memory but does not end the process. */
const write = (value: JsonValue, form: Form): JsonText => {
  let exact = true;
  let out = "";
  const quote = (text: string): string => {
    if (form === "escaped" || isStorable(text)) return JSON.stringify(text);
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

/** Text of a value without integers beyond 2^53, by the engine's own writer; null if the engine fails. */
const fastText = (value: JsonValue): string | null => {
  try {
    const text = JSON.stringify(value);
    return MAYBE_SURROGATE.test(text) ? null : text;
  } catch {
    // A bigint, or nested deeper than the engine's stack allows.
    return null;
  }
};

/** Text of a value that every JSON reader accepts. Half surrogate pairs become U+FFFD, and then `exact` is false. */
export const jsonText = (value: JsonValue): JsonText => {
  const text = fastText(value);
  return text === null ? write(value, "storable") : { text, exact: true };
};

/** A number as its digits in a value that equals no other value. */
const digits = (text: string): JsonValue => ({ "\u0000number": text });
const isParsed = (value: unknown): value is JsonValue => value !== undefined;

/** True when two JSON texts differ only in the order of members. */
export const saysTheSame = (a: string, b: string): boolean => {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  try {
    const [left, right] = [parse(a, null, digits), parse(b, null, digits)];
    if (!isParsed(left) || !isParsed(right)) return false;
    return write(left, "canonical").text === write(right, "canonical").text;
  } catch {
    // Nested too deep for the parser. It counts as a change, which costs one version at most.
    return false;
  }
};

/** Exact JSON text with half surrogate pairs escaped, for `sync.rejects` and for exact values in `_extra`. */
export const exactJson = (value: JsonValue): string => write(value, "escaped").text;

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
