// Reads the catalog of a file that came from elsewhere, in the fenced process, before anything of the program binds it: what a view, macro,
// default or generated column holds runs wherever it is bound. It may hold tables, views in `marts`, and table macros of the past;
// their SQL must pass the gate that a user's SQL passes. So files of every version pass, and nothing that a user might not run.
import type { DuckDBConnection } from "@duckdb/node-api";
import { sqlText } from "../../duckdb/sql-files.ts";
import { checkStatement, Refused } from "./check-statement.ts";

const passes = async (connection: DuckDBConnection, sql: string): Promise<boolean> => {
  if (sql === "") return false;
  try {
    await checkStatement(connection, sql);
    return true;
  } catch (error) {
    if (error instanceof Refused || (error instanceof Error && error.message.startsWith("Parser Error"))) return false;
    throw error;
  }
};

/** What the open file holds that duckmirror does not make, as `view main.x`; empty: nothing. */
export const foreignEntries = async (connection: DuckDBConnection): Promise<readonly string[]> => {
  const found: string[] = [];
  const result = await connection.runAndReadAll(sqlText("warehouse/catalog-entries.sql"));
  for (const [name, statement] of result.getRows()) {
    if (!(await passes(connection, String(statement ?? "")))) found.push(String(name));
  }
  return found;
};
