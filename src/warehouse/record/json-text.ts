// JSON values as text that every JSON reader accepts, integers exact; and whether two texts say the same.
// Pure. Member order stays as received, which lets the engine's own writer do the work (decision 0001).
import { parse } from "lossless-json";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";

declare global {
  interface String {
    /** In every Node from 20 on; TypeScript's ES2023 does not list it yet. */
    isWellFormed(): boolean;
  }
}

/** Half of a surrogate pair: legal in a JavaScript string and in JSON's grammar, but not in UTF-8. */
const LONE_SURROGATES = /\p{Surrogate}/gu;
/** May be the escape of one: a second look decides. */
const MAYBE_SURROGATE = /\\ud[89a-f]/;

/** True when the text can be stored exactly as UTF-8. */
export const isStorable = (text: string): boolean => text.isWellFormed();

/** The text with every half surrogate pair replaced by U+FFFD. */
export const storable = (text: string): string => text.replace(LONE_SURROGATES, "\ufffd");

export interface JsonText {
  readonly text: string;
  /** False when something was replaced to make the text readable by every JSON reader. */
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

/** Works without recursion: a body nested a million deep costs memory, not the process. */
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
    // A reader that meets 1e999 fails on the whole document: only the escaped form may say it.
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

/** Text of a value without integers beyond 2^53, from the engine's own writer; null where that cannot do it. */
const fastText = (value: JsonValue): string | null => {
  try {
    const text = JSON.stringify(value);
    return MAYBE_SURROGATE.test(text) ? null : text;
  } catch {
    // A bigint, or nested deeper than the engine's stack.
    return null;
  }
};

/** Text of a value, readable by every JSON reader: half surrogate pairs become U+FFFD, and then `exact` is false. */
export const jsonText = (value: JsonValue): JsonText => {
  const text = fastText(value);
  return text === null ? write(value, "storable") : { text, exact: true };
};

/** A number as a value that equals no other: its digits. */
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
    // Nested too deep for the parser: taken as a change, which at worst costs one version.
    return false;
  }
};

/** Exact JSON text, halves of surrogate pairs escaped: for `sync.rejects` and the exact form kept in `_extra`. */
export const exactJson = (value: JsonValue): string => write(value, "escaped").text;

/** One text per member of `_extra`: API name → JSON text of the value. */
export type ExtraEntries = ReadonlyMap<string, string>;

/**
 * What `_extra` keeps of a value: its JSON, or `{"$json": "<exact JSON text>"}` where plain JSON cannot say it
 * (half surrogate pairs, numbers no double holds). `JSON.parse` of `$json` restores the value.
 */
export const extraText = (value: JsonValue): string => {
  const plain = jsonText(value);
  return plain.exact ? plain.text : jsonText({ $json: exactJson(value) }).text;
};

/** `_extra` as stored: members sorted by name; null when there are none. */
export const joinExtra = (entries: ExtraEntries): string | null => {
  if (entries.size === 0) return null;
  const members = [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, text]) => `${JSON.stringify(storable(name))}:${text}`).join(",")}}`;
};

/** The members of an `_extra` text that `joinExtra` wrote, values untouched. */
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
