// Embedded records: what `include` brought along, whatever shape `included` has.
// Pure. API.md shows no shape; accepted are {company: {...}}, {companies: [...]}, {company: [...]} and maps by id.
import type { EmbedSpec } from "../catalog/streams.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";

const hasId = (value: JsonValue): value is JsonObject =>
  isJsonObject(value) && value.id !== undefined && value.id !== null;

/** An object without an id whose values are records: a map by id. The key fills in an id the record lacks. */
const fromMap = (map: JsonObject): readonly JsonObject[] =>
  Object.entries(map).flatMap(([id, value]) => {
    if (hasId(value)) return [value];
    return isJsonObject(value) ? [Object.assign({ id }, value)] : [];
  });

const recordsIn = (value: JsonValue | undefined): readonly JsonObject[] => {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.filter(hasId);
  if (!isJsonObject(value)) return [];
  return hasId(value) ? [value] : fromMap(value);
};

/** Records of one embedding; those without an id are left out. */
export const embeddedRecords = (included: JsonObject | null, embed: EmbedSpec): readonly JsonObject[] =>
  included === null ? [] : embed.keys.flatMap((key) => recordsIn(included[key]));
