// Settings about fields and tables: fields never stored or stored as a keyed hash, and the treatment of misfits.
// Names are checked against the catalog, because a mistyped name would let through a value that must not be stored.
import { z } from "zod";
import { closest, didYouMean } from "../text/did-you-mean.ts";
import { flaw, many, one, shown, text } from "./setting-parsers.ts";

/** Allowed settings for the fields of one table. */
export interface RuledFields {
  readonly excludable: readonly string[];
  readonly hashable: readonly string[];
  /** Field → reason why the mirror needs it unchanged. */
  readonly needed: Readonly<Record<string, string>>;
}

/** Table → its fields. */
export type FieldVocabulary = Readonly<Record<string, RuledFields>>;

const STRICTNESS = ["evolve", "freeze", "reject"] as const;
/**
 * Treatment of misfits. evolve: keep values in `_extra` and record them in `sync.schema_drift`. reject: put the whole
 * record in `sync.rejects`. freeze: do not load the response, and fail its stream.
 */
export type Strictness = (typeof STRICTNESS)[number];

/** Means every table. */
export const EVERY_TABLE = "*";

const ruledField = (fields: FieldVocabulary, verb: "exclude" | "hash") => (name: string) => {
  const [table = "", first, ...deeper] = name.split(".");
  const rules = Object.hasOwn(fields, table) ? fields[table] : undefined;
  if (rules === undefined) {
    const tables = Object.keys(fields);
    return flaw(`${shown(name)}: there is no table ${shown(table)} with such fields.${didYouMean(table, tables)}`);
  }
  if (first === undefined || first === "" || deeper.includes("")) {
    return flaw(`${shown(name)} is not a field like contacts.email`);
  }
  const why = Object.hasOwn(rules.needed, first) ? rules.needed[first] : undefined;
  if (why !== undefined) return flaw(`${name} is needed as it is: ${why}`);
  const documented = rules.excludable.includes(first);
  if (documented && verb === "hash" && deeper.length === 0 && !rules.hashable.includes(first)) {
    return flaw(`${name} cannot be hashed: it is not a text, or has few documented values. Exclude it instead`);
  }
  const guess = documented ? null : closest(first, [...rules.excludable, ...Object.keys(rules.needed)]);
  if (guess !== null) return flaw(`${name} is not a field of ${table}. Did you mean ${table}.${guess}?`);
  return name;
};

/** `contacts: reject` pairs, `contacts=reject` separated by commas, or one word for all tables. */
const strictness = (tables: readonly string[]) =>
  z
    .union([z.record(z.string(), z.string()), z.string()], { error: "is a list, but a map or one word is expected" })
    .transform((value, ctx): Readonly<Record<string, Strictness>> => {
      const pairs =
        typeof value !== "string"
          ? Object.entries(value)
          : value
              .split(",")
              .filter((pair) => pair.trim() !== "")
              .map((pair): [string, string] => {
                const [name = "", word] = pair.split("=");
                return word === undefined ? [EVERY_TABLE, name] : [name, word];
              });
      const parsed: Record<string, Strictness> = {};
      const wrong = (message: string) => ctx.addIssue({ code: "custom", message });
      for (const [typed, word] of pairs) {
        const name = typed.trim();
        const found = STRICTNESS.find((known) => known === word.trim().toLowerCase());
        if (name !== EVERY_TABLE && tables.length > 0 && !tables.includes(name)) {
          wrong(`${shown(name)} is not a table.${didYouMean(name, tables)}`);
        } else if (found === undefined) {
          wrong(`${shown(word)} is not one of ${STRICTNESS.join(", ")}.${didYouMean(word, STRICTNESS)}`);
        } else parsed[name] = found;
      }
      return parsed;
    });

/** Settings for the schema. `tables`: all tables. */
export const fieldSettings = (fields: FieldVocabulary, tables: readonly string[]) => ({
  exclude_fields: many(ruledField(fields, "exclude"))
    .prefault([])
    .meta({
      description: "Fields (table.field) that are never stored, and not requested where the service offers the choice.",
      examples: [["contacts.phone", "contacts.personInsights"]],
    }),
  hash_fields: many(ruledField(fields, "hash"))
    .prefault([])
    .meta({
      description: "Fields (table.field) of which only a keyed hash is stored.",
      examples: [["contacts.email"]],
    }),
  hash_key: one("a key", (value) =>
    /^[\x21-\x7e]{16,}$/.test(value) ? value : flaw("a key has 16 or more characters and no spaces"),
  )
    .optional()
    .meta({ description: "Key of hash_fields. Better kept in a file of its own." }),
  hash_key_file: text
    .optional()
    .meta({ description: "File that holds the key of hash_fields.", examples: ["~/.config/duckmirror/hash-key"] }),
  strictness: strictness(tables)
    .prefault({})
    .meta({
      description:
        "What happens to records that do not fit their table: evolve (misfit values go to _extra), reject (the record goes to sync.rejects), freeze (the stream fails); for all tables or table by table.",
      examples: [{ contacts: "reject" }],
    }),
});

/** Excluded or hashed fields unknown to API.md, which may never be received. */
export const undocumentedFields = (fields: FieldVocabulary, names: readonly string[]): readonly string[] =>
  names.filter((name) => {
    const [table = "", first = ""] = name.split(".");
    return fields[table]?.excludable.includes(first) === false;
  });
