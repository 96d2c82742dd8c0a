// Placeholders for erased contacts: a record with only a keyed hash of the id, and a text instead of the id. Counts
// stay equal to the service's, which still counts the contact, and nobody can be identified. Pure. docs/PRIVACY.md
// describes the whole.
import { isJsonObject, type JsonObject, type JsonValue, jsonOrNull } from "./json.ts";
import { formsOf, isWord } from "./text/escaped-forms.ts";

const MEMBER = "$forgotten";
const PREFIX = "forgotten:";
/** A shorter id occurs in other texts by chance, so it is searched only where ids are expected. */
const TELLING_CHARS = 8;
/** Whether an id is a contact's wherever it is found. */
export const isTelling = (id: string): boolean => id.length >= TELLING_CHARS;

/** Placeholder record of an erased contact. */
export const forgottenRecord = (hash: string): JsonObject => ({ [MEMBER]: hash });

/** Hash in a placeholder record; null for any other record. */
export const forgottenHash = (record: JsonValue): string | null => {
  if (!isJsonObject(record)) return null;
  const hash = record[MEMBER];
  return typeof hash === "string" && Object.keys(record).length === 1 ? hash : null;
};

/** Placeholder text of an erased contact's id. */
export const forgottenId = (hash: string): string => `${PREFIX}${hash}`;
export const isForgottenId = (id: string): boolean => id.startsWith(PREFIX);

/** The value with every text mapped by `text`; the same value if nothing changes. */
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

const isJson = (text: string): boolean => /^\s*[[{]/.test(text) && jsonOrNull(text) !== null;

/** The JSON text with each of its texts mapped; everything else stays as written, also integers beyond 2^53. */
const mapJsonText = (json: string, map: (text: string) => string): string =>
  json.replace(/"(?:[^"\\]|\\.)*"/g, (quoted) => {
    const before: string = JSON.parse(quoted);
    const after = map(before);
    return after === before ? quoted : JSON.stringify(after);
  });

/** Replaces ids in texts, in every form in which they can be written. */
export interface IdEraser {
  /** False: the text, also a JSON text, holds no id, not even as a part of a word. */
  readonly mayHold: (text: string) => boolean;
  /** For places where contact ids are expected: a text that is an id, JSON text with one, a path with one. */
  readonly among: (text: string) => string;
  /** For all other places: a path that names a contact, and ids too long to occur by chance. */
  readonly anywhere: (text: string) => string;
}

/** `tokens`: id → its replacement. */
export const createIdEraser = (tokens: ReadonlyMap<string, string>): IdEraser => {
  const patterns = [...tokens].map(([id, token]) => {
    const forms = formsOf(id);
    const named = `(?<=/contacts/|[?&]contactId=)(?:${forms})(?![^/?#&\\s"'])`;
    return {
      token,
      byWord: isTelling(id),
      some: new RegExp(forms, "u"),
      whole: new RegExp(`^(?:${forms})$`, "u"),
      each: new RegExp(isTelling(id) ? forms : named, "gu"),
    };
  });
  const mayHold = (text: string) => patterns.some(({ some }) => some.test(text));
  const anywhere = (text: string) =>
    patterns.reduce(
      (clean, { each, byWord, token }) =>
        clean.replace(each, (found: string, at: number, all: string) =>
          byWord && !isWord(all, at, at + found.length) ? found : token,
        ),
      text,
    );
  const among = (text: string): string => {
    const token = patterns.find(({ whole }) => whole.test(text))?.token;
    if (token !== undefined) return token;
    return anywhere(isJson(text) ? mapJsonText(text, among) : text);
  };
  return { mayHold, among, anywhere };
};
