// Strict tables: which records do not fit a table as it is. Pure. How strict a table is, is the configuration's choice;
// `evolve` never asks.
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { type Strictness, strictnessOf } from "../../core/config/field-settings.ts";
import { forgottenHash } from "../../core/forgotten.ts";
import type { TableLoad } from "./checkpoint.ts";
import { createNormalizer, type NormalRow } from "./normalize-record.ts";

/** How strict each table is. */
export type TableStrictness = (table: TableName) => Strictness;

export const tableStrictness =
  (settings: Readonly<Record<string, Strictness>>): TableStrictness =>
  (table) =>
    strictnessOf(settings, table);

/** Every table takes what comes. */
export const EVOLVING: TableStrictness = () => "evolve";

/** Fields named in one message at most. */
const MOST_NAMED = 5;

/**
 * Why a record does not fit its table: a field that has no column, or a value that its column cannot hold; null when it
 * fits. New values of an enumeration fit: their column holds them; so do times finer than a microsecond.
 */
export const misfitOf = ({ extra, cut }: NormalRow): string | null => {
  const names = [...extra.keys()].filter((name) => !cut.includes(name));
  if (names.length === 0) return null;
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
  return `no column holds ${names.slice(0, MOST_NAMED).join(", ")}${more}`;
};

/** The first record of an answer that does not fit a frozen table; null when all fit. */
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
