// Lengths of lists that `check` counted, of use before the first sync. Pure.
import { SCOPED_TABLES } from "../../../catalog/tables.ts";
import type { RowScope } from "../../../core/config/planning/scope-settings.ts";
import type { Checked } from "../../../core/state/checked.ts";
import { filtersOf } from "../../rows/row-scope.ts";

/** Stream → rows of its list, of lists that were counted with the filters that the setting `scope` has now. */
export const totalsWithin = ({ totals, filters }: Checked, scope: RowScope): ReadonlyMap<string, number> => {
  const isOther = (stream: string) =>
    SCOPED_TABLES.some((table) => {
      const wanted = filtersOf(scope, table);
      return table === stream && filters.get(stream) !== (wanted === null ? undefined : JSON.stringify(wanted));
    });
  return new Map([...totals].filter(([stream]) => !isOther(stream)));
};
