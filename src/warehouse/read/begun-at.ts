// When a file was begun. A replay fills a new one, whose rows may hold other values under the same times and runs: by new
// field rules, or by a program that reads a response another way.
import { z } from "zod";
import { sqlText } from "../duckdb/sql-files.ts";
import type { ReadSql } from "../duckdb/statements.ts";

const begunRow = z.object({ begun_at: z.number().nullable() });

/** ms since the epoch; null: not known. */
export const readBegunAt = async (sql: ReadSql): Promise<number | null> => {
  const [row] = await sql.query(sqlText("warehouse/begun-at.sql"), [], begunRow);
  return row?.begun_at ?? null;
};
