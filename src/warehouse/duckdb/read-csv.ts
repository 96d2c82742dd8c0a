// Reads a CSV as text, with whatever separator and quotes it has.
import { z } from "zod";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { openDatabase } from "./database.ts";
import { sqlText } from "./sql-files.ts";

const row = z.record(z.string(), z.string().nullable());

/** Columns by the file's first line, and the rows' values in that order. Throws USAGE when it is no CSV. */
export const readCsv = async (
  path: string,
): Promise<{ readonly columns: readonly string[]; readonly rows: readonly (readonly (string | null)[])[] }> => {
  const database = await openDatabase(":memory:", { threads: 1 });
  try {
    const rows = await database.query(sqlText("warehouse/read-csv.sql"), [path], row);
    const columns = Object.keys(rows[0] ?? {});
    return { columns, rows: rows.map((found) => columns.map((column) => found[column] ?? null)) };
  } catch (cause) {
    const [detail = ""] = detailOf(cause).split("\n");
    throw new DuckmirrorError("USAGE", { detail: `${path} cannot be read as CSV: ${detail}` }, { cause });
  } finally {
    await database.close();
  }
};
