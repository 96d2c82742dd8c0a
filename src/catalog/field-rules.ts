// Field rules: which fields of which tables are never stored, and which only as a keyed hash. What may be ruled out, and
// why not, follows from the catalog: without keys, dates of change and links the mirror could not be kept in step.
import type { FieldSpec } from "./fields.ts";
import { STREAM_NAMES, streamSpec } from "./streams.ts";
import { TABLE_NAMES, type TableName, tableSpec } from "./tables.ts";

/** Tables whose rows are made by duckmirror itself, or hold nothing but figures: no field of theirs can be ruled out. */
const FIGURES: ReadonlySet<TableName> = new Set<TableName>([
  "company_inputs",
  "signal_counts",
  "usage_snapshots",
  "usage_breakdown",
  "usage_limits",
]);

/** A field, or a member deep inside one: `contacts.email`, `account_insights.summary.peopleUpdates`. */
export interface FieldPath {
  readonly table: TableName;
  /** Names in the API, outermost first. */
  readonly path: readonly string[];
}

/** What configuration may say about the fields of one table. */
export interface RuledTable {
  /** Documented fields that may be excluded. */
  readonly excludable: readonly string[];
  /** Of these, texts and lists of texts: a hash can stand in their column. */
  readonly hashable: readonly string[];
  /** Field → why the mirror needs it. */
  readonly needed: Readonly<Record<string, string>>;
}

const neededFields = (table: TableName): Readonly<Record<string, string>> => {
  const needed: Record<string, string> = {};
  for (const name of STREAM_NAMES) {
    const stream = streamSpec(name);
    for (const embed of stream.embeds) {
      if (stream.table === table && embed.parentField !== undefined) needed[embed.parentField] = "it links the record";
    }
    if (stream.table !== table) continue;
    if (stream.watermark !== undefined) needed[stream.watermark] = "it says when the record changed";
    if (stream.walkOrder !== undefined) needed[stream.walkOrder.sortBy] = "it orders the list";
    if (stream.filter !== undefined) needed[stream.filter.field] = "it says when the record changed";
  }
  // Signals say which company lists to refresh.
  if (table === "signals") Object.assign(needed, { accountId: "it links the record", type: "it steers what is read" });
  const { key, fields } = tableSpec(table);
  for (const field of fields) if (key.includes(field.column)) needed[field.name] = "it is the key";
  return needed;
};

const holdsText = ({ columnType, allowed }: FieldSpec): boolean =>
  (columnType === "VARCHAR" || columnType === "VARCHAR[]") && allowed === undefined;

const ruledTable = (table: TableName): RuledTable => {
  const needed = neededFields(table);
  const free = tableSpec(table).fields.filter(({ name }) => !Object.hasOwn(needed, name));
  return {
    excludable: free.map(({ name }) => name),
    hashable: free.filter(holdsText).map(({ name }) => name),
    needed,
  };
};

/** Table → what may be said about its fields. Tables of figures are absent. */
export const ruledTables = (): Readonly<Record<string, RuledTable>> =>
  Object.fromEntries(TABLE_NAMES.filter((name) => !FIGURES.has(name)).map((name) => [name, ruledTable(name)]));

/** `contacts.email` as a path; null where the table is none. */
export const fieldPath = (text: string): FieldPath | null => {
  const [first = "", ...path] = text.split(".");
  const table = TABLE_NAMES.find((name) => name === first);
  return table === undefined || path.length === 0 ? null : { table, path };
};
