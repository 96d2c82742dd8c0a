// `Change`: one change of the feed, in the form in which every reader gets it (docs/CHANGES.md).
import { isTableName, TABLE_NAMES, type TableName } from "../../../catalog/tables.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue, jsonText } from "../../../core/json.ts";

// A change in words for people: what the row is called, and which values became which. Pure.

/** Columns that name a row, the best first. */
const TITLES = ["name", "headline", "title", "input"] as const;
/** Longest text of a value. */
const MOST_CHARACTERS = 60;

const titleOf = (record: JsonObject): string => {
  const { first_name: first, last_name: last } = record;
  const person = [first, last].filter((part) => typeof part === "string").join(" ");
  if (person !== "") return person;
  for (const column of TITLES) {
    const title = record[column];
    if (typeof title === "string" && title !== "") return title;
  }
  return "";
};

const isNested = (value: JsonValue) => Array.isArray(value) || isJsonObject(value);
const valueText = (value: JsonValue): string => {
  if (value === null) return "nothing";
  const text = typeof value === "string" ? value : jsonText(value).text;
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS - 1)}…`;
};

/** Name of the row (empty: it has none), and `main_score 70.7 → 47.7` per changed field; of an object only its name. */
export const changeInWords = ({ fields, before, after }: Change): { readonly title: string; readonly what: string } => {
  const title = titleOf(after ?? before ?? {});
  if (before === null || after === null) return { title, what: "" };
  const texts = fields.map((field) => {
    const [old, fresh] = [before[field] ?? null, after[field] ?? null];
    return isNested(old) || isNested(fresh) ? field : `${field} ${valueText(old)} → ${valueText(fresh)}`;
  });
  return { title, what: texts.join(", ") };
};

/** One insert, update or delete of the mirror. */
export interface Change {
  /** 1, 2, 3, ... in commit order, without gaps. */
  readonly n: number;
  /** When duckmirror received it, or found the row gone: ISO 8601, UTC. */
  readonly at: string;
  /** Null: no run made it. */
  readonly run_id: string | null;
  readonly table: TableName;
  /** Key columns and their values. */
  readonly key: JsonObject;
  readonly change: "insert" | "update" | "delete";
  /** Columns that differ in an update; else empty. */
  readonly fields: readonly string[];
  /** The row before and after; null for an insert and a delete, and for an erased contact. */
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
}

/** Consecutive changes, and where the next ones begin. */
export interface ChangePage {
  readonly changes: readonly Change[];
  /** The cursor for the next page: number of the last change that was considered. */
  readonly next: number;
  /** Number of the last change in the snapshot. */
  readonly last: number;
}

/** Tables by name; none: every table. Throws USAGE. */
export const changeTables = (names: readonly string[]): readonly TableName[] => {
  const wrong = names.find((name) => !isTableName(name));
  if (wrong !== undefined) {
    const detail = `there is no mirrored table ${wrong}; there are ${TABLE_NAMES.join(", ")}`;
    throw new DuckmirrorError("USAGE", { detail });
  }
  return names.length === 0 ? TABLE_NAMES : names.filter(isTableName);
};
