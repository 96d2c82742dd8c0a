// Translates DuckDB's errors. They carry no code, so this file, and no other, decides by their text what happened.
import { dirname } from "node:path";
import { LEDGER_TABLES } from "../../catalog/ledger-tables.ts";
import { TABLE_NAMES, VIEW_NAMES } from "../../catalog/tables.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { diskError, saysFull } from "../../core/files/own-files.ts";
import { closest } from "../../core/text/did-you-mean.ts";

// The second halves are those of Windows. DuckDB's own words there are English in every language; the system's are not.
const LOCKED =
  /could not set lock on file|conflicting lock is held|file is already open in\s|being used by another process/i;
const REFUSED = /permission denied|read-only file system|access is denied/i;
const NEWER = /created with a newer version of duckdb|we can only read versions? /i;
const CORRUPT =
  /corrupt database file|could not read enough bytes from file|not a valid duckdb database file|failed to deserialize|serialization error/i;
/** Appears alone, inside a failed COMMIT, and inside a fatal error of a checkpoint. */
const NO_MEMORY =
  /^out of memory error|(?:failed to (?:pin|allocate|offload)|could not allocate) (?:data )?(?:block|data|of)\b/i;
const INVALIDATED = /^fatal error|database has been invalidated/i;

/** True when the instance is unusable and the file must be opened again. */
export const isFatal = (error: unknown): boolean => INVALIDATED.test(detailOf(error));

/**
 * True when work needed more than `memory_limit`, or more than `max_temp_directory_size`, where more memory also
 * helps.
 */
export const isOutOfMemory = (error: unknown): boolean =>
  !(error instanceof DuckmirrorError) && NO_MEMORY.test(detailOf(error));

/** Error of a statement or a write: DISK_FULL or NO_MEMORY where that is the cause, else the error itself. */
export const statementError = (error: unknown): unknown => {
  if (!isOutOfMemory(error) || saysFull(detailOf(error))) return diskError(error);
  return new DuckmirrorError("NO_MEMORY", { detail: detailOf(error) }, { cause: error });
};

/**
 * The same for a statement on `file`: damaged blocks may show only when they are read. A file that was opened for
 * writing, and may no longer be written, is DATA_DIR_UNWRITABLE.
 */
export const fileError = (error: unknown, file: string, readOnly: boolean): unknown => {
  const detail = detailOf(error);
  if (!(error instanceof DuckmirrorError || readOnly || saysFull(detail)) && REFUSED.test(detail)) {
    return new DuckmirrorError("DATA_DIR_UNWRITABLE", { dir: dirname(file), detail }, { cause: error });
  }
  if (error instanceof DuckmirrorError || !CORRUPT.test(detail)) return statementError(error);
  return new DuckmirrorError(readOnly ? "SNAPSHOT_DAMAGED" : "WAREHOUSE_CORRUPT", { file, detail }, { cause: error });
};

/** Error for the user when `file` in the data directory `dir` cannot be opened. */
export const openError = (error: unknown, file: string, dir: string): DuckmirrorError => {
  if (error instanceof DuckmirrorError) return error;
  const detail = detailOf(error);
  const cause = { cause: error };
  if (LOCKED.test(detail)) return new DuckmirrorError("WRITER_BUSY", { dir }, cause);
  if (saysFull(detail)) return new DuckmirrorError("DISK_FULL", { detail }, cause);
  if (REFUSED.test(detail)) return new DuckmirrorError("DATA_DIR_UNWRITABLE", { dir, detail }, cause);
  if (isOutOfMemory(error)) return new DuckmirrorError("NO_MEMORY", { detail }, cause);
  if (NEWER.test(detail)) {
    return new DuckmirrorError("WAREHOUSE_NEWER", { file, found: "of a newer DuckDB", known: "1.5" }, cause);
  }
  return new DuckmirrorError("WAREHOUSE_CORRUPT", { file, detail }, cause);
};

/** Error for the user when a snapshot cannot be opened by work that writes below `dir`. */
export const snapshotError = (error: unknown, snapshot: string, dir: string): DuckmirrorError => {
  const known = fileError(error, snapshot, true);
  return known instanceof DuckmirrorError ? known : openError(error, snapshot, dir);
};

/** Error for the user when the program's own query on a snapshot fails. */
export const readError = (error: unknown, snapshot: string): DuckmirrorError => {
  const known = fileError(error, snapshot, true);
  if (known instanceof DuckmirrorError) return known;
  return new DuckmirrorError("QUERY_FAILED", { detail: detailOf(error) }, { cause: error });
};

/** Error for the user when the file of a lock, which holds no data, cannot be opened. */
export const lockError = (error: unknown, file: string, dir: string): DuckmirrorError => {
  const known = openError(error, file, dir);
  if (known.code !== "WAREHOUSE_CORRUPT") return known;
  return new DuckmirrorError("LOCK_DAMAGED", { file }, { cause: error });
};

// DuckDB may suggest one of its internal tables for an unknown one; the mirror's closest table replaces it.

/** Names as in SQL: tables of main without schema, others with it. */
const NAMES: readonly string[] = [
  ...TABLE_NAMES,
  ...VIEW_NAMES.map((name) => `marts.${name}`),
  ...LEDGER_TABLES.map(({ name }) => `sync.${name}`),
  ...TABLE_NAMES.map((name) => `history.${name}`),
];

const bare = (name: string) => name.slice(name.indexOf(".") + 1);

/** The closest table by spelling, with its schema if one was typed. */
const meant = (typed: string): string | null => {
  // An older snapshot may lack a table that this program knows.
  const known = NAMES.filter((name) => name !== typed);
  const full = typed.includes(".") ? closest(typed, known) : null;
  const name = closest(bare(typed), known.map(bare));
  return full ?? known.find((candidate) => bare(candidate) === name) ?? null;
};

/** The name as written in the query, with its schema; DuckDB's message has the bare name. */
const asTyped = (name: string, excerpt: string): string => {
  const before = excerpt.slice(0, Math.max(0, excerpt.indexOf(`.${name}`)));
  const schema = /\w+$/.exec(before)?.[0];
  return schema === undefined ? name : `${schema}.${name}`;
};

/** DuckDB's message with our suggestion; any other message unchanged. */
export const withOurGuess = (message: string): string => {
  const found =
    /^(Catalog Error: Table with name "?(.+?)"? does not exist(?:!| because .*))\n(?:Did you mean .*\n)?/.exec(message);
  if (found === null) return message;
  const [whole, sentence = "", name = ""] = found;
  const excerpt = message.slice(whole.length);
  const guess = meant(asTyped(name, excerpt));
  return `${sentence}${guess === null ? "" : `\nDid you mean "${guess}"?`}\n${excerpt}`;
};
