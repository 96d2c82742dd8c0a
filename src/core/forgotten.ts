// What stands in place of a person who was forgotten: a record that says nothing but a keyed hash of the id, and a text
// in place of the id. Counts stay true (the service goes on counting the person), and nobody can be read from them.
// Pure. docs/PRIVACY.md tells the whole.
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";

const MEMBER = "$forgotten";
const PREFIX = "forgotten:";
/** An id shorter than this may stand anywhere by chance: it is only looked for where ids stand. */
const TELLING_CHARS = 8;

/** The record in place of a forgotten one. */
export const forgottenRecord = (hash: string): JsonObject => ({ [MEMBER]: hash });

/** Hash of a record that stands for a forgotten one; null for any other. */
export const forgottenHash = (record: JsonValue): string | null => {
  if (!isJsonObject(record)) return null;
  const hash = record[MEMBER];
  return typeof hash === "string" && Object.keys(record).length === 1 ? hash : null;
};

/** What stands in place of a forgotten id. */
export const forgottenId = (hash: string): string => `${PREFIX}${hash}`;
export const isForgottenId = (id: string): boolean => id.startsWith(PREFIX);

/** A value with every text rewritten by `text`; the value itself where that changes nothing. */
export const mapTexts = (value: JsonValue, text: (text: string) => string): JsonValue => {
  if (typeof value === "string") return text(value);
  if (Array.isArray(value)) {
    const items = value.map((item: JsonValue) => mapTexts(item, text));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([name, item]) => [text(name), mapTexts(item, text)] as const);
  const changed = entries.some(([name, item]) => item !== value[name]);
  return changed ? Object.fromEntries(entries) : value;
};

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

const jsonOf = (text: string): JsonValue | undefined => {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
};

/** Takes ids out of texts. */
export interface IdEraser {
  /** Where ids of contacts stand: a text that is an id, JSON text that holds one, a path that names one. */
  readonly among: (text: string) => string;
  /** Anywhere else: a path that names a contact, and ids too long to stand there by chance. */
  readonly anywhere: (text: string) => string;
}

/** `tokens`: id → what is to stand in its place. */
export const createIdEraser = (tokens: ReadonlyMap<string, string>): IdEraser => {
  const patterns = [...tokens].flatMap(([id, token]) => {
    const plain = escaped(id);
    const encoded = escaped(encodeURIComponent(id));
    const inPath = new RegExp(`(?<=/contacts/)(?:${plain}|${encoded})(?![^/?#\\s"'])`, "gu");
    const telling = new RegExp(`(?<![\\p{L}\\p{N}])(?:${plain}|${encoded})(?![\\p{L}\\p{N}])`, "gu");
    return [id.length >= TELLING_CHARS ? { pattern: telling, token } : { pattern: inPath, token }];
  });
  const anywhere = (text: string) =>
    patterns.reduce((clean, { pattern, token }) => clean.replace(pattern, token), text);
  const among = (text: string): string => {
    const token = tokens.get(text);
    if (token !== undefined) return token;
    const json = jsonOf(text);
    if (json === undefined) return anywhere(text);
    const clean = mapTexts(json, among);
    return clean === json ? anywhere(text) : anywhere(JSON.stringify(clean));
  };
  return { among, anywhere };
};
