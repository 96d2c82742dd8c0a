// Updates the column `_in_scope` of accounts, contacts and signals, which says whether the setting `scope` includes a row: of a list read
// with filters, the rows that it returned last. Counts of the list are compared with them. docs/decisions/row-scope.md.
import { z } from "zod";
import { SCOPED_TABLES, type ScopedTable } from "../../../catalog/tables.ts";
import type { RowScope } from "../../../core/config/planning/scope-settings.ts";
import { quoted } from "../../../core/text/sql-text.ts";
import type { Warehouse } from "../../../warehouse/file/warehouse.ts";
import type { ListForm } from "../../list/form.ts";
import { unreadState } from "../../list/stored-state.ts";
import { changedScopes, storeForm, storeScope } from "../../plan/capabilities.ts";
import { filtersOf, isScoped, outsideOf } from "../../rows/row-scope.ts";

type Shapes = ReadonlyMap<string, ListForm>;

export interface ScopeRun {
  readonly warehouse: Warehouse;
  readonly rowScope: RowScope;
  readonly runId: string;
  /** ms since the epoch. */
  readonly now: number;
}

const isReadWhole = (rowScope: RowScope, table: ScopedTable, shapes: Shapes): boolean =>
  isScoped(rowScope, table) && (filtersOf(rowScope, table) === null || shapes.get(table)?.filters === false);

/**
 * The list is read completely with the new scope. Its rows are marked by what is known of them until that walk has
 * shown which are inside.
 */
const beginScope = async ({ warehouse, rowScope, runId, now }: ScopeRun, table: ScopedTable): Promise<void> => {
  const outside = outsideOf(rowScope, table);
  await warehouse.mark({ of: "setting", table, inside: true, outside });
  if (outside !== null) await warehouse.mark({ of: "setting", table, inside: false, outside });
  const known = (await warehouse.scopeStates(table)).some(({ scope }) => scope === "");
  const scopes = known ? [unreadState(table, "", runId)] : [];
  await warehouse.commit({ runId, loads: [], requests: [], scopes, quota: null });
  await storeScope(warehouse, rowScope, table, now);
};

/** Prepares a run: a list whose scope has changed is read completely. */
export const openScope = async (run: ScopeRun, shapes: Map<string, ListForm>): Promise<void> => {
  const { warehouse, rowScope, now } = run;
  for (const table of changedScopes(await warehouse.capabilities(), rowScope)) {
    await beginScope(run, table);
    const shape = shapes.get(table);
    if (shape?.filters === false) {
      shapes.set(table, { ...shape, filters: true });
      await storeForm(warehouse, table, { ...shape, filters: true }, now);
    }
  }
  for (const table of SCOPED_TABLES)
    if (isReadWhole(rowScope, table, shapes))
      await warehouse.mark({ of: "setting", table, inside: true, outside: null });
};

/** Ends a run: marks the rows of lists that were read whole. */
export const closeScope = async ({ warehouse, rowScope }: ScopeRun, shapes: Shapes): Promise<void> => {
  for (const table of SCOPED_TABLES) {
    const outside = isReadWhole(rowScope, table, shapes) ? outsideOf(rowScope, table) : null;
    if (outside !== null) await warehouse.mark({ of: "setting", table, inside: false, outside });
  }
};

const idRow = z.object({ id: z.string() });

/** Moves rows outside the scope to history. Returns their number, by stream. Lists that are read whole keep theirs. */
export const eraseOutside = async (
  { warehouse, rowScope, runId, now }: ScopeRun,
  shapes: Shapes,
): Promise<ReadonlyMap<ScopedTable, number>> => {
  const erased = new Map<ScopedTable, number>();
  for (const table of SCOPED_TABLES) {
    if (!isScoped(rowScope, table) || isReadWhole(rowScope, table, shapes)) continue;
    const sql = `SELECT CAST(id AS VARCHAR) AS id FROM main.${quoted(table)} WHERE NOT _in_scope`;
    const ids = (await warehouse.database.query(sql, [], idRow)).map(({ id }) => id);
    if (ids.length > 0) erased.set(table, await warehouse.deleteKeys({ table, ids, runId, now }));
  }
  return erased;
};
