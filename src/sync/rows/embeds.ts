// Extracts the records embedded by `include` from `included`, in any of its possible shapes. Pure. API.md shows no
// shape; accepted are {company: {...}}, {companies: [...]}, {company: [...]} and maps by id.
import { type EmbedSpec, isContent } from "../../catalog/streams.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";

const hasId = ({ id }: JsonObject): boolean => id !== undefined && id !== null;

/**
 * Records of an object without an id whose values are records (a map by id). The key becomes the id of a record
 * without one.
 */
const fromMap = (map: JsonObject): readonly JsonValue[] => {
  const values = Object.entries(map).filter(([, value]) => value !== null);
  // No value is an object, so this is one record without an id.
  if (!values.some(([, value]) => isJsonObject(value))) return values.length === 0 ? [] : [map];
  return values.map(([id, value]) =>
    isJsonObject(value) && !hasId(value)
      ? Object.defineProperty({ ...value }, "id", { value: id, enumerable: true })
      : value,
  );
};

const recordsIn = (value: JsonValue): readonly JsonValue[] => {
  if (Array.isArray(value)) return value.includes(null) ? value.filter((item) => item !== null) : value;
  if (!isJsonObject(value)) return [value];
  return hasId(value) ? [value] : fromMap(value);
};

/**
 * Records of one embedding. Values that are no record, or lack an id, are included: loading rejects and keeps them.
 */
export const embeddedRecords = (included: JsonObject | null, embed: EmbedSpec): readonly JsonValue[] => {
  const records: JsonValue[] = [];
  for (const key of included === null ? [] : embed.keys) {
    const value = included?.[key] ?? null;
    if (value !== null) records.push(...recordsIn(value));
  }
  return records;
};

/**
 * An embedded record without heavy fields that are not configured. The list would not bring them with the record's next
 * version, so the column would contradict its row (docs/decisions/fields.md). `kept`: those that are
 * taken.
 */
export const withoutContent = (record: JsonValue, table: TableName, kept: readonly string[] = []): JsonValue => {
  if (!isJsonObject(record)) return record;
  const left = tableSpec(table).fields.filter((field) => isContent(field) && !kept.includes(field.name));
  if (!left.some(({ name }) => Object.hasOwn(record, name))) return record;
  return Object.fromEntries(Object.entries(record).filter(([name]) => !left.some((field) => field.name === name)));
};
