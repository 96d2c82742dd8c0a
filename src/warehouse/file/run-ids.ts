// Run ids chosen by the caller of a sync. A run that continues after a crash needs a new one.
import { z } from "zod";
import { sqlText } from "../duckdb/sql-files.ts";
import type { Warehouse } from "./warehouse.ts";

const runRow = z.object({ run_id: z.string() });
const creditsRow = z.object({ credits: z.number() });

const startRow = z.object({ started_at: z.number().nullable() });

/** When the first of the runs `wanted`, `wanted-2`, `wanted-3` ... started, ms since the epoch; null: there is none. */
export const firstStartOf = async ({ database }: Warehouse, wanted: string): Promise<number | null> => {
  const [row] = await database.query(sqlText("warehouse/first-start-of-runs.sql"), [wanted], startRow);
  return row?.started_at ?? null;
};

/** Credits that the runs `wanted`, `wanted-2`, `wanted-3` ... may have cost. */
export const creditsOfRuns = async ({ database }: Warehouse, wanted: string): Promise<number> => {
  const [row] = await database.query(sqlText("warehouse/credits-named-after.sql"), [wanted], creditsRow);
  return row?.credits ?? 0;
};

/** `wanted`, or `wanted-2`, `wanted-3` ... if earlier runs have those ids. */
export const unusedRunId = async (warehouse: Warehouse, wanted: string): Promise<string> => {
  const rows = await warehouse.database.query(sqlText("warehouse/runs-named-after.sql"), [wanted], runRow);
  const used = new Set(rows.map((row) => row.run_id));
  let id = wanted;
  for (let next = 2; used.has(id); next += 1) id = `${wanted}-${next}`;
  return id;
};
