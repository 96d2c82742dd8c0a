// Granted fields: optional fields that a list returns on request. API.md does not say which, so responses decide: a
// record with a value proves the grant; a page without any value counts against it. Pure.
import type { FieldSpec } from "../../catalog/fields.ts";
import type { StreamSpec } from "../../catalog/streams.ts";
import { tableSpec } from "../../catalog/tables.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { embeddedRecords } from "./embeds.ts";

/** A page with fewer records proves nothing, because perhaps none of them has a value. */
export const FEW_RECORDS = 20;

/** True when a record has a value; null proves as little as absence. */
export const hasValue = (records: readonly JsonValue[], name: string): boolean =>
  records.some((record) => isJsonObject(record) && record[name] !== undefined && record[name] !== null);

/** True for a field that a response may lack although the record has a value. */
export const isUncertain = ({ detailOnly, namedOnly }: FieldSpec): boolean => detailOnly || namedOnly;

/**
 * Uncertain fields that this response returns: a record has a value, or the list is known to return the field and the
 * page is too short to disprove it.
 */
export const grantedFields = (
  fields: readonly FieldSpec[],
  records: readonly JsonValue[],
  known: readonly string[],
): readonly string[] =>
  fields
    .filter(isUncertain)
    .filter(({ name }) => hasValue(records, name) || (known.includes(name) && records.length < FEW_RECORDS))
    .map(({ name }) => name);

/** Fields and embedded records that a list returns on request, and those that it does not. */
export interface Grants {
  readonly grants: readonly string[];
  readonly lacks: readonly string[];
}

/** The grants after one more page. `query`: parameters of the page's request. */
export const grantsAfter = (
  known: Grants,
  stream: StreamSpec,
  query: Readonly<Record<string, string>>,
  page: { readonly records: readonly JsonValue[]; readonly included: JsonObject | null },
): Grants => {
  const { records } = page;
  const grants = new Set(known.grants);
  const lacks = new Set(known.lacks);
  const note = (name: string, seen: boolean, asked: boolean, fewest = FEW_RECORDS) => {
    if (seen) {
      grants.add(name);
      lacks.delete(name);
    } else if (asked && records.length > 0 && !(grants.has(name) && records.length < fewest)) {
      grants.delete(name);
      lacks.add(name);
    }
  };
  const named = query.onlyWithFields?.split(",") ?? [];
  for (const { name } of tableSpec(stream.table).fields.filter(isUncertain)) {
    note(name, hasValue(records, name), named.includes(name));
  }
  const included = query.include?.split(",") ?? [];
  for (const embed of stream.embeds) {
    const asked = included.includes(embed.include) && hasValue(records, embed.parentField ?? "id");
    // A record that names its related one has it, so a single one proves that it was not embedded.
    const fewest = embed.parentField === undefined ? FEW_RECORDS : 1;
    note(embed.include, embeddedRecords(page.included, embed).length > 0, asked, fewest);
  }
  return { grants: [...grants].sort(), lacks: [...lacks].sort() };
};
