// Which fields the settings `exclude_fields` and `hash_fields` may name (not keys, dates of change and links, which the mirror needs), and
// what a rule on a field means for tables and requests.

import type { RuledFields } from "../core/config/field-settings.ts";
import type { Vocabulary } from "../core/config/settings.ts";
import type { FieldSpec } from "./fields.ts";
import { STREAM_NAMES, type StreamName, streamSpec, wantedContent } from "./streams.ts";
import { TABLE_NAMES, type TableName, tableSpec } from "./tables.ts";

// Vocabulary: names of streams, tables and opt-in fields that the configuration may use, from the catalog. PURE.

/** Tables without a stream of their own → the stream that fills them. */
const COMES_WITH: Readonly<Record<string, string>> = {
  owners: "accounts",
  company_inputs: "companies",
  usage_snapshots: "usage",
  usage_breakdown: "usage",
  usage_requests: "usage",
  usage_limits: "usage",
};

export interface ContentField {
  readonly stream: StreamName;
  readonly field: string;
  readonly meaning: string;
}

export const contentFields = (): readonly ContentField[] => {
  const everyField = TABLE_NAMES.flatMap((table) => tableSpec(table).fields.map((field) => field.name));
  return STREAM_NAMES.flatMap((stream) =>
    wantedContent(streamSpec(stream), everyField).map(({ name, meaning }) => ({ stream, field: name, meaning })),
  );
};

/** Names of the setting `content`: of a field in every stream that has it, and in one stream. */
const contentNames = (): readonly string[] => {
  const all = contentFields();
  return [...new Set([...all.map(({ field }) => field), ...all.map(({ stream, field }) => `${stream}.${field}`)])];
};

/** Names that the configuration may use, from the catalog. */
export const vocabulary = (): Vocabulary => ({
  streams: STREAM_NAMES,
  content: contentNames(),
  comesWith: COMES_WITH,
  fields: ruledTables(),
});

/** Tables that duckmirror writes itself, or that hold only figures. Rules cannot name their fields. */
const FIGURES: ReadonlySet<TableName> = new Set<TableName>([
  "company_inputs",
  "signal_counts",
  "usage_snapshots",
  "usage_breakdown",
  "usage_limits",
]);

/** A field, or a nested member: `contacts.email`, `account_insights.summary.peopleUpdates`. */
export interface FieldPath {
  readonly table: TableName;
  /** API names, outermost first. */
  readonly path: readonly string[];
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
  // Signals decide which company lists to refresh.
  if (table === "signals") Object.assign(needed, { accountId: "it links the record", type: "it steers what is read" });
  const { key, fields } = tableSpec(table);
  for (const field of fields) if (key.includes(field.column)) needed[field.name] = "it is the key";
  return needed;
};

const holdsText = ({ columnType, allowed }: FieldSpec): boolean =>
  (columnType === "VARCHAR" || columnType === "VARCHAR[]") && allowed === undefined;

const ruledTable = (table: TableName): RuledFields => {
  const needed = neededFields(table);
  const free = tableSpec(table).fields.filter(({ name }) => !Object.hasOwn(needed, name));
  return {
    excludable: free.map(({ name }) => name),
    hashable: free.filter(holdsText).map(({ name }) => name),
    needed,
  };
};

/** Table → allowed rules for its fields. Tables of figures are absent. */
export const ruledTables = (): Readonly<Record<string, RuledFields>> =>
  Object.fromEntries(TABLE_NAMES.filter((name) => !FIGURES.has(name)).map((name) => [name, ruledTable(name)]));

/** `contacts.email` as a path; null when the table does not exist. */
export const fieldPath = (text: string): FieldPath | null => {
  const [first = "", ...path] = text.split(".");
  const table = TABLE_NAMES.find((name) => name === first);
  return table === undefined || path.length === 0 ? null : { table, path };
};
