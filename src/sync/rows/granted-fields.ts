// Granted fields: what a list returns beyond its default answer when it is asked. API.md is silent about it, so the
// answers show it: a record with a value proves the grant; a page without any speaks against it. Pure.
import type { FieldSpec } from "../../catalog/fields.ts";
import type { StreamSpec } from "../../catalog/streams.ts";
import { tableSpec } from "../../catalog/tables.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { embeddedRecords } from "./embeds.ts";

/** A page with so few records may lack a field that the list returns: none of them has a value. */
const FEW_RECORDS = 20;

/** A value that is there: null says as little as absence. */
const hasValue = (records: readonly JsonValue[], name: string): boolean =>
  records.some((record) => isJsonObject(record) && record[name] !== undefined && record[name] !== null);

/** True for a field that an answer may lack although the record has a value. */
export const isUncertain = ({ detailOnly, namedOnly }: FieldSpec): boolean => detailOnly || namedOnly;

/**
 * Uncertain fields that this answer does return: a record has one, or the list is known to return it and the page is
 * too short to speak against that.
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

/** What is known of a list: fields and embedded records that it returns when asked, and those that it does not. */
export interface Grants {
  readonly grants: readonly string[];
  readonly lacks: readonly string[];
}

/** What is known after one more page. `query`: what the page was asked for. */
export const grantsAfter = (
  known: Grants,
  stream: StreamSpec,
  query: Readonly<Record<string, string>>,
  page: { readonly records: readonly JsonValue[]; readonly included: JsonObject | null },
): Grants => {
  const { records } = page;
  const grants = new Set(known.grants);
  const lacks = new Set(known.lacks);
  const note = (name: string, seen: boolean, asked: boolean) => {
    if (seen) {
      grants.add(name);
      lacks.delete(name);
    } else if (asked && records.length > 0 && !(grants.has(name) && records.length < FEW_RECORDS)) {
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
    note(embed.include, embeddedRecords(page.included, embed).length > 0, asked);
  }
  return { grants: [...grants].sort(), lacks: [...lacks].sort() };
};
