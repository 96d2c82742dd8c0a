// The accepted gap of a list: records that the service counted and the mirror could not hold when the last complete walk
// ended (docs/GLOSSARY.md). Pure.

import { z } from "zod";
import type { ScopedTable } from "../../catalog/tables.ts";
import type { RowScope } from "../../core/config/planning/scope-settings.ts";
import type { ScopeState } from "../../warehouse/record/checkpoint.ts";
import { filtersOf } from "./row-scope.ts";

// A scope that adds values of one filter to an earlier one: the added rows are a filtered list of their own, which the
// service can return alone (docs/decisions/row-scope.md). Pure.

interface Widenable {
  /** Settings that may get more values; true: the document says that the service takes several. */
  readonly gains: Readonly<Record<string, boolean>>;
  /** Other settings that may limit the list. A row enters or leaves them only by a change that its change date shows. */
  readonly keeps: readonly string[];
}

/**
 * Not here: `signals_of_type`, because a new signal can move an account into the scope without a change of the account;
 * `text`, because only the service can judge it.
 */
const WIDENABLE: Readonly<Partial<Record<ScopedTable, Widenable>>> = {
  accounts: { gains: { ids: true, type: false }, keeps: ["priority", "owner_id"] },
  signals: { gains: { type: true }, keeps: ["since"] },
};

const part = z.record(z.string(), z.unknown());
const texts = z.array(z.string());

/**
 * The scope of the rows that `scope` adds to `earlier` (as `scopeText` of the same table); null: it does not only add
 * values to one filter, or the service may not take as many.
 */
export const addedScope = (earlier: string, scope: RowScope, table: ScopedTable): RowScope | null => {
  const { gains = {}, keeps = [] } = WIDENABLE[table] ?? {};
  const from = part.parse(JSON.parse(earlier));
  const to = part.parse(scope[table] ?? {});
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  const changed = names.filter((name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]));
  const [gained] = changed;
  const isOther = (name: string) => !(name in gains) && !keeps.includes(name);
  if (gained === undefined || changed.length > 1 || names.some(isOther)) return null;
  const had = texts.safeParse(from[gained]).data ?? [];
  const wanted = texts.safeParse(to[gained]).data ?? [];
  // A list that was complete with two values shows that the service takes several.
  const takesSeveral = gains[gained] === true || (gained in gains && had.length > 1);
  if (!takesSeveral || had.length === 0 || had.some((value) => !wanted.includes(value))) return null;
  const added = wanted.filter((value) => !had.includes(value));
  return filtersOf(scope, table) === null ? null : { ...scope, [table]: { ...to, [gained]: added } };
};

/** Rows; below zero if the mirror held more than the service counted. null: no complete walk has shown it. */
export const acceptedGap = (state: Pick<ScopeState, "totalCount" | "rowsAtWalk"> | undefined): number | null =>
  state?.totalCount == null || state.rowsAtWalk == null ? null : state.totalCount - state.rowsAtWalk;
