// Loads new lines of the audit trail into sync.audit and removes what is older than the retention. Only the process
// with the writer's lock does this. Rows and positions are written in one transaction, so each line is loaded once; a
// rebuilt file starts at the first line again.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { isCode } from "../../core/errors.ts";
import { problemOf } from "../../core/report/problem.ts";
import type { Database } from "../duckdb/database.ts";
import { statementError } from "../duckdb/duck-errors.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { instant, type Sql } from "../duckdb/statements.ts";
import { type AuditLine, lastOfEach } from "./audit-line.ts";
import { isSettled, readParts } from "./read-trail.ts";
import { dayOf, trailDir, trailFiles } from "./trail.ts";

const DAY_MS = 86_400_000;

const fileRow = z.object({ file: z.string(), loaded: z.number(), damaged: z.number() });
type LoadedFile = z.output<typeof fileRow>;

const storeFile = async (tx: Sql, { file, loaded, damaged }: LoadedFile, problem: string | null): Promise<void> => {
  await tx.run("DELETE FROM sync.audit_files WHERE file = $1", [file]);
  await tx.run("INSERT INTO sync.audit_files VALUES ($1, $2, $3, $4)", [file, loaded, damaged, problem]);
};

const storeLines = async (tx: Sql, lines: readonly AuditLine[]): Promise<void> => {
  const last = lastOfEach(lines);
  if (last.length === 0) return;
  await tx.run("DELETE FROM sync.audit WHERE id IN (SELECT unnest($1))", [last.map(({ id }) => id)]);
  await tx.run(sqlText("warehouse/audit-insert.sql"), [JSON.stringify(last.map(({ audit: _, ...line }) => line))]);
};

const isFileProblem = (error: unknown): boolean =>
  isCode(error, "DATA_DIR_UNWRITABLE") || (error instanceof Error && "syscall" in error);

const loadFile = async (database: Database, dir: string, known: LoadedFile, now: number): Promise<void> => {
  let file = known;
  try {
    for await (const part of readParts(join(dir, file.file), file.loaded, isSettled(file.file, now))) {
      const next = { file: file.file, loaded: part.end, damaged: file.damaged + part.damaged };
      await database.transaction(async (tx) => {
        await storeLines(tx, part.lines);
        await storeFile(tx, next, null);
      });
      file = next;
    }
  } catch (error) {
    // The mirror is published nevertheless; sync.audit_files shows the problem.
    if (!isFileProblem(error)) throw error;
    await database.transaction((tx) => storeFile(tx, file, problemOf(error).message));
  }
};

/**
 * Removes rows and files of more than `days` before `now`. A file that cannot be removed keeps its position, so that its
 * lines are not loaded again.
 */
const prune = async (database: Database, dir: string, files: readonly string[], oldest: number): Promise<void> => {
  const old = files.filter((name) => (dayOf(name) ?? oldest) + DAY_MS <= oldest);
  const problems = new Map<string, string>();
  for (const name of old) {
    await rm(join(dir, name), { force: true }).catch((error: unknown) => {
      problems.set(name, `it cannot be removed: ${problemOf(error).message}`);
    });
  }
  const gone = old.filter((name) => !problems.has(name));
  await database.transaction(async (tx) => {
    await tx.run("DELETE FROM sync.audit WHERE started_at < $1", [instant(oldest)]);
    await tx.run("DELETE FROM sync.audit_files WHERE file IN (SELECT unnest($1))", [gone]);
    for (const [name, problem] of problems) {
      await tx.run("UPDATE sync.audit_files SET problem = $2 WHERE file = $1", [name, problem]);
    }
  });
};

/** Name under which a folder that cannot be read has its problem. */
const FOLDER = "state/audit";

/** The trail's files; none if the folder cannot be read, as sync.audit_files then says. */
const readableFiles = async (
  database: Database,
  dir: string,
  known: readonly LoadedFile[],
): Promise<readonly string[]> => {
  try {
    const files = await trailFiles(dir);
    if (known.some(({ file }) => file === FOLDER)) {
      await database.transaction((tx) => tx.run("DELETE FROM sync.audit_files WHERE file = $1", [FOLDER]));
    }
    return files;
  } catch (error) {
    if (!isFileProblem(error)) throw error;
    await database.transaction((tx) =>
      storeFile(tx, { file: FOLDER, loaded: 0, damaged: 0 }, problemOf(error).message),
    );
    return [];
  }
};

/**
 * Brings sync.audit up to date. `retentionDays`: null keeps everything; `now`: ms since the epoch. Files that cannot be
 * read or removed stop nothing: sync.audit_files says why. Throws DISK_FULL, NO_MEMORY and other errors of DuckDB.
 */
export const loadTrail = async (
  database: Database,
  dataDir: string,
  { retentionDays, now }: { readonly retentionDays: number | null; readonly now: number },
): Promise<void> => {
  const dir = trailDir(dataDir);
  try {
    const known = await database.query(sqlText("warehouse/audit-files.sql"), [], fileRow);
    const files = await readableFiles(database, dir, known);
    for (const file of files) {
      await loadFile(database, dir, known.find((row) => row.file === file) ?? { file, loaded: 0, damaged: 0 }, now);
    }
    if (retentionDays !== null) await prune(database, dir, files, now - retentionDays * DAY_MS);
  } catch (error) {
    throw statementError(error);
  }
};
