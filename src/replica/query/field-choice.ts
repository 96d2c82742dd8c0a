// Fields of a response: `onlyWithFields`, opt-in fields, and fields of the detail route only. PURE.
// Source: API.md, "Conventions common to all endpoints" and "GET /v1/signals/{signalId}".
import type { FieldSpec } from "../../catalog/fields.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { Refusal } from "../refusal.ts";
import type { Params } from "./params.ts";

/**
 * Without `onlyWithFields`: all fields except opt-in ones; lists also omit fields that only the detail route returns.
 */
export const defaultFields = (table: TableName, detail: boolean): readonly FieldSpec[] =>
  tableSpec(table).fields.filter((field) => !field.optIn && (detail || !field.detailOnly));

export interface FieldChoice {
  readonly fields: readonly FieldSpec[];
  /** True when the caller named fields: exactly those are returned, and no unknown ones. */
  readonly named: boolean;
}

/** Throws a 400 refusal for a name that is not a field of the resource. */
export const chooseFields = (table: TableName, params: Params, detail: boolean): FieldChoice => {
  const names = params.list("onlyWithFields");
  if (names.length === 0) return { fields: defaultFields(table, detail), named: false };
  const known = tableSpec(table).fields;
  const unknown = names.find((name) => !known.some((field) => field.name === name));
  if (unknown !== undefined) throw new Refusal("bad_request", `onlyWithFields names the unknown field "${unknown}".`);
  return { fields: known.filter((field) => names.includes(field.name)), named: true };
};
