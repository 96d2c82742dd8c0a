// New working files. Creating every table, view and comment takes 0.2 s of processor time, so the build makes an empty
// mirror once, and a new file begins as its copy. Opening checks it like any other file: what it lacks is created then,
// and without the copy everything is. docs/decisions/publishing.md.
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createDurably, flushToDisk } from "../../core/files/own-files.ts";
import { programFile, readProgram } from "../../core/program-files.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";
import { instant } from "../duckdb/duck-values.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { migrate } from "./migrate.ts";
import { applyViews } from "./views.ts";

/** Creates an empty mirror, dated 1970, for the build. */
export const makeEmptyMirror = async (file: string): Promise<void> => {
  const database = await openDatabase(file, { threads: 1 });
  try {
    await migrate(database, 0);
    await applyViews(database, 0);
  } finally {
    await database.close();
  }
};

/** The empty mirror of the build. The sources have none. */
const emptyMirrorFile = (): string => fileURLToPath(programFile("empty-mirror.duckdb"));

/**
 * Puts a copy of the empty mirror at `file`, if nothing is there and the program has one. Returns whether it did. The
 * caller holds the writer's lock.
 */
export const copyEmptyMirror = async (file: string, empty: string = emptyMirrorFile()): Promise<boolean> => {
  if (existsSync(file) || existsSync(`${file}.wal`) || !existsSync(empty)) return false;
  const unfinished = `${file}.empty`;
  try {
    // A killed process left it, or somebody planted a link, which is not followed.
    await rm(unfinished, { force: true });
    // Flushed, because DuckDB flushes its WAL with the first rows, but not a file that it has not written.
    const bytes = readProgram(pathToFileURL(empty));
    await createDurably(unfinished, (copy) => copy.writeFile(bytes));
    await rename(unfinished, file);
    await flushToDisk(dirname(file));
    return true;
  } catch {
    // Whatever prevented the copy prevents creating the file as well, and opening it says so.
    await rm(unfinished, { force: true }).catch(() => undefined);
    return false;
  }
};

/** The tables of a copied file are as old as the mirror, not as the build. `now`: ms since the epoch. */
export const dateCopiedMirror = (database: Database, now: number): Promise<void> =>
  database.transaction(async (tx) => {
    await tx.run(sqlText("warehouse/date-migrations.sql"), [instant(now)]);
    await tx.run(sqlText("warehouse/date-views.sql"), [instant(now)]);
  });
