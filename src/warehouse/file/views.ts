// Creates the analysts' views (schema marts), the past of each table (schema asof) and the comments on tables and columns in the working
// file. They are not migrations: when their text changes, the next opening creates them again, so that every later snapshot has them.

import { createHash } from "node:crypto";
import { z } from "zod";
import { catalogTables, commentOf, type DictionaryTable, sqlName } from "../../catalog/dictionary.ts";
import { VIEW_NAMES } from "../../catalog/tables.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { didYouMean } from "../../core/text/did-you-mean.ts";
import { literal, quoted } from "../../core/text/sql-text.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";
import { readMigrations, sqlText, textsOf } from "../duckdb/sql-files.ts";
import { instant, type Sql } from "../duckdb/statements.ts";
import { asOfStatements, viewText } from "../generated/view-texts.ts";
import { migrate } from "./migrate.ts";

const commentStatements = (table: DictionaryTable): string => {
  const path = `${quoted(table.schema)}.${quoted(table.name)}`;
  const onColumns = table.columns.map(
    (column) => `COMMENT ON COLUMN ${path}.${quoted(column.name)} IS ${literal(commentOf(column))};`,
  );
  // History columns mean the same as in main; leaving them out saves 250 comments on the first open.
  const columns = table.schema === "history" ? [] : onColumns;
  return [`COMMENT ON TABLE ${path} IS ${literal(table.grain)};`, ...columns].join("\n");
};

/** Migrations are part of the checksum, because a view over a table's old columns would no longer open. */
const checksumOf = (texts: readonly string[]): string => {
  const hash = createHash("sha256");
  for (const text of [...readMigrations().map(({ checksum }) => checksum), ...texts]) hash.update(text).update("\0");
  return hash.digest("hex");
};

let wanted: { readonly texts: readonly string[]; readonly checksum: string } | null = null;

/** Views and comments of this program. A worker asks before each sync, so the 200 KB are put together once. */
const wantedViews = () => {
  if (wanted === null) {
    const texts = [...VIEW_NAMES.map(viewText), ...asOfStatements(), ...catalogTables().map(commentStatements)];
    wanted = { texts, checksum: checksumOf(texts) };
  }
  return wanted;
};

const createAll = async (tx: Sql, texts: readonly string[], checksum: string, now: number): Promise<void> => {
  for (const view of await textsOf(tx, sqlText("warehouse/existing-views.sql")))
    await tx.run(`DROP VIEW IF EXISTS marts.${quoted(view)}`);
  for (const text of texts) await tx.run(text);
  await tx.run("DELETE FROM sync.views");
  await tx.run("INSERT INTO sync.views VALUES ($1, $2)", [checksum, instant(now)]);
};

/**
 * Creates views and comments whose texts differ from this program's. `now`: ms since the epoch. Returns whether it
 * created any. The database must be migrated. `anew`: whatever the file's record says.
 */
export const applyViews = async (database: Database, now: number, anew = false): Promise<boolean> => {
  const { texts, checksum } = wantedViews();
  await database.run(sqlText("warehouse/views-record.sql"));
  if (anew) await database.run("DELETE FROM sync.views");
  const isCommitted = async (sql: Sql) => (await textsOf(sql, "SELECT checksum FROM sync.views"))[0] === checksum;
  if (await isCommitted(database)) return false;
  await database.transaction((tx) => createAll(tx, texts, checksum, now), { isCommitted });
  await database.flushWal();
  return true;
};

const describedRow = z.object({
  view_name: z.string(),
  view_comment: z.string().nullable(),
  column_name: z.string(),
  data_type: z.string(),
  comment: z.string().nullable(),
});

/** The views of schema marts for the data dictionary, in alphabetical order. Needs no warehouse. */
export const describeViews = async (): Promise<readonly DictionaryTable[]> => {
  const database = await openDatabase(":memory:", { threads: 1 });
  try {
    await migrate(database, 0);
    for (const name of VIEW_NAMES) await database.run(viewText(name));
    const rows = await database.query(sqlText("warehouse/described-views.sql"), [], describedRow);
    const views = new Map<string, DictionaryTable>();
    for (const { view_name: name, view_comment, column_name, data_type, comment } of rows) {
      const column = {
        name: column_name,
        type: data_type.replaceAll("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"),
        meaning: comment ?? "",
        sourceField: null,
        nullWhen: null,
        allowed: null,
        references: null,
      };
      const known = views.get(name)?.columns ?? [];
      const grain = view_comment ?? "";
      views.set(name, {
        schema: "marts",
        name,
        grain,
        key: [],
        source: `sql/views/${name}.sql`,
        columns: [...known, column],
      });
    }
    return [...views.values()];
  } finally {
    await database.close();
  }
};

let described: Promise<readonly DictionaryTable[]> | null = null;

/** Every table and view, with its columns; read once. */
export const describedTables = (): Promise<readonly DictionaryTable[]> => {
  described ??= describeViews().then((views) => [...catalogTables(), ...views]);
  described.catch(() => {
    described = null;
  });
  return described;
};

/** The table or view that a person named. Throws USAGE. */
export const describedTable = async (typed: string): Promise<DictionaryTable> => {
  const tables = await describedTables();
  const name = typed.replace(/^main\./, "");
  // A view may be named without its schema, because no table of main has the same name.
  const found = tables.find((table) => sqlName(table) === name) ?? tables.find((table) => table.name === name);
  if (found !== undefined) return found;
  const detail = `there is no table ${typed}.${didYouMean(name, tables.map(sqlName))}`;
  throw new DuckmirrorError("USAGE", { detail });
};
