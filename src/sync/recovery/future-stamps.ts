// Times of readings that lie in the future, because the clock was ahead: their lists would not be due until then. They become
// the time of now, so a list is read at its usual age. A clock that is behind the service's own dates changes nothing: with its
// time, every list would be too old later.
import { z } from "zod";
import { instant } from "../../warehouse/duckdb/duck-values.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import type { Warehouse } from "../../warehouse/file/warehouse.ts";

/** Clocks that are set right by the network differ by less. */
const TOLERANCE_MS = 60_000;

const answerRow = z.object({ ahead: z.boolean() });

/** Corrects the states of all lists. Returns how many it corrected. `now`: ms since the epoch. */
export const correctFutureStamps = async (
  warehouse: Pick<Warehouse, "database" | "scopeStates" | "commit">,
  runId: string,
  now: number,
): Promise<number> => {
  const latest = now + TOLERANCE_MS;
  const [answer] = await warehouse.database.query(sqlText("plan/stamped-ahead.sql"), [instant(latest)], answerRow);
  if (answer?.ahead !== true) return 0;
  const isAhead = (at: number | null) => at !== null && at > latest;
  const bound = (at: number | null) => (isAhead(at) ? now : at);
  const wrong = (await warehouse.scopeStates()).filter((state) => isAhead(state.checkedAt) || isAhead(state.walkedAt));
  const scopes = wrong.map((state) => ({
    ...state,
    checkedAt: bound(state.checkedAt),
    walkedAt: bound(state.walkedAt),
  }));
  await warehouse.commit({ runId, loads: [], requests: [], scopes, quota: null });
  return scopes.length;
};
