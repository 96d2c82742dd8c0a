// Lists what in the catalog of a file that came from elsewhere is not this version's own, in the fenced process, before anything of the
// program binds it: what a view, macro, default or generated column holds runs wherever it is bound. `foreign`: the file is refused. `unlike`:
// a view of another version, or planted; the caller refuses it or makes its views anew. Decides nothing itself.
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

export interface Inspected {
  /** What duckmirror never makes, as `view main.x`. */
  readonly foreign: string[];
  /** Views that this version makes otherwise, or not: of an earlier version, or planted. */
  readonly unlike: string[];
}

/** The text that DuckDB keeps of a SELECT. */
const asKept = async (connection: DuckDBConnection, select: string): Promise<string> => {
  const sql = "SELECT system.main.json_deserialize_sql(system.main.json_serialize_sql($1::VARCHAR))";
  return String((await connection.runAndReadAll(sql, [select])).getRows()[0]?.[0]);
};

/** `own`: what each view and macro of this version selects. */
export const inspectCatalog = async (
  connection: DuckDBConnection,
  own: readonly (readonly [name: string, select: string])[],
): Promise<Inspected> => {
  const found: Inspected = { foreign: [], unlike: [] };
  const selects = new Map(own);
  // Views and macros first: to name columns, DuckDB may bind a view, and native code behind it would forge the answer.
  for (const file of ["catalog-views", "catalog-entries"]) {
    const result = await connection.runAndReadAll(sqlText(`warehouse/${file}.sql`));
    for (const [entry, text] of result.getRows()) {
      const [name, statement] = [String(entry), String(text ?? "")];
      const select = selects.get(name);
      const isMacro = name.startsWith("macro ");
      // A macro runs only where somebody calls it, and then behind the gate.
      if (!(await passes(connection, statement)) || (isMacro && select === undefined)) found.foreign.push(name);
      else if (isMacro || name.startsWith("view ")) {
        const isOwn = select !== undefined && (await asKept(connection, select)) === statement.replace(/;$/, "");
        if (!isOwn) found.unlike.push(name);
      }
    }
    if (found.foreign.length > 0) break;
  }
  return found;
};
