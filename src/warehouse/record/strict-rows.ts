// Misfits of strict tables: records that a table does not take as they are. Pure. The configuration sets how strict a
// table is; `evolve` takes every record.
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { type Strictness, strictnessOf } from "../../core/config/field-settings.ts";
import { forgottenHash } from "../../core/forgotten.ts";
import type { TableLoad } from "./checkpoint.ts";
import { createNormalizer, type NormalRow } from "./normalize-record.ts";

/** Strictness of each table. */
export type TableStrictness = (table: TableName) => Strictness;

export const tableStrictness =
  (settings: Readonly<Record<string, Strictness>>): TableStrictness =>
  (table) =>
    strictnessOf(settings, table);

/** Every table takes every record. */
export const EVOLVING: TableStrictness = () => "evolve";

/** Most fields named in one message. */
const MOST_NAMED = 5;

/**
 * Reason why a record does not fit its table: a field without a column, or a value that its column cannot hold; null
 * when it fits. New values of an enumeration fit, and so do times finer than a microsecond.
 */
export const misfitOf = ({ extra, cut }: NormalRow): string | null => {
  const names = [...extra.keys()].filter((name) => !cut.includes(name));
  if (names.length === 0) return null;
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
  return `no column holds ${names.slice(0, MOST_NAMED).join(", ")}${more}`;
};

/** The first record of a response that does not fit a frozen table; null when all fit. */
export const frozenMisfit = (
  loads: readonly TableLoad[],
  strictness: TableStrictness,
): { readonly table: TableName; readonly detail: string } | null => {
  for (const load of loads) {
    if (strictness(load.table) !== "freeze") continue;
    const normalize = createNormalizer(tableSpec(load.table), load);
    for (const record of load.records) {
      if (forgottenHash(record) !== null) continue;
      const row = normalize(record);
      const detail = row.kind === "reject" ? row.reason : misfitOf(row);
      if (detail !== null) return { table: load.table, detail };
    }
  }
  return null;
};
