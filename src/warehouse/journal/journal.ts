// The journal: makes each change durable in the archive before the working database changes. The working file can
// then be lost, because the journal holds the order in which responses were loaded, the deletions, and the state of
// each scope. Changes run one at a time, so the file lacks at most the last entry.

import { rmSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { appendOwn, listOwn, makeOwnFolder, readOwnText } from "../../core/files/own-files.ts";
import { jsonText } from "../../core/json.ts";
import { month, openNew } from "../archive/archive.ts";
import type { Database } from "../duckdb/database.ts";
import { statementError } from "../duckdb/duck-errors.ts";
import { createQueue } from "../duckdb/gate.ts";
import { numberOf, sqlText } from "../duckdb/sql-files.ts";
import type { Sql } from "../duckdb/statements.ts";
import type { Checkpoint } from "../record/checkpoint.ts";
import { type CallLine, lineText, type OutsideCalls, readCallLines } from "./call-lines.ts";
import type { JournalEntry, JournalEvent, JournalRows } from "./journal-event.ts";
import { JOURNAL, lastJournalled } from "./read-journal.ts";

// Call files: `state/calls/<run id>.jsonl`, one per command that sends requests without holding the warehouse. The next
// process that holds it books the calls (sync/recovery/load-command-calls.ts) and removes the file.

const SUFFIX = ".jsonl";

export const callsDir = (dataDir: string): string => join(dataDir, "state", "calls");

/** Appends a line and makes it durable. Throws the error of the file system. */
export const appendCallLine = (dataDir: string, runId: string, line: CallLine): void => {
  const dir = callsDir(dataDir);
  makeOwnFolder(dirname(dir));
  makeOwnFolder(dir);
  appendOwn(join(dir, `${runId}${SUFFIX}`), lineText(line), { flush: true });
};

/** Empty for a file that another process has removed, and for a link. */
const textOf = (path: string): Promise<string> => readOwnText(path).catch(() => "");

/** Calls in the files of a data directory, oldest command first. A file without a readable line is left out. */
export const readCallFiles = async (dataDir: string): Promise<readonly OutsideCalls[]> => {
  const dir = callsDir(dataDir);
  const names = (await listOwn(dir).catch(() => [])).filter((name) => name.endsWith(SUFFIX)).sort();
  const found: OutsideCalls[] = [];
  for (const name of names) {
    const calls = readCallLines(name.slice(0, -SUFFIX.length), await textOf(join(dir, name)));
    if (calls !== null) found.push(calls);
  }
  return found;
};

/** Removes the file of a command whose calls are booked, if it can. */
export const removeCallFile = (dataDir: string, runId: string): void => {
  try {
    rmSync(join(callsDir(dataDir), `${runId}${SUFFIX}`), { force: true });
  } catch {
    // Its calls are booked again, which changes nothing.
  }
};

/** Number of the last change in the file. */
export const readApplied = async (sql: Sql): Promise<number> =>
  (await numberOf(sql, sqlText("warehouse/journal-applied.sql"))) ?? 0;

/** Makes a change and records its number in the same transaction, which shows whether a failed COMMIT was durable. */
export const applyOnce = <T>(database: Database, seq: number, apply: (tx: Sql) => Promise<T>): Promise<T> =>
  database.transaction(
    async (tx) => {
      const made = await apply(tx);
      await tx.run(sqlText("warehouse/journal-set-applied.sql"), [seq]);
      return made;
    },
    { isCommitted: async (sql) => (await readApplied(sql)) === seq },
  );

/** Journal entry of a checkpoint. Responses are in the archive already; other rows are written out. */
export const commitEntry = ({ runId, loads, requests, scopes, quota }: Checkpoint): JournalEntry => {
  const unanswered = new Set<string>();
  for (const { requestId, status } of requests) if (status !== 200) unanswered.add(requestId);
  const walks = new Map<string, string | null>();
  const written: JournalRows[] = [];
  for (const { asked, ...load } of loads) {
    const { requestId, walkId } = load;
    if (unanswered.has(requestId)) written.push({ from: "journal", ...load, asked: [...asked] });
    else walks.set(requestId, walks.get(requestId) ?? walkId);
  }
  const rows: JournalRows[] = [];
  for (const [requestId, walkId] of walks) rows.push({ from: "response", requestId, walkId });
  return { kind: "commit", runId, rows: [...rows, ...written], requests, scopes, quota };
};

export interface Journal {
  /**
   * Writes the entry, then runs `apply` in a transaction. Changes run one after another; an entry that depends on the
   * changes before it is a function, called when its turn comes. If `apply` throws, nothing changed, and the next entry
   * takes this one's number.
   */
  record<T>(entry: JournalEntry | (() => Promise<JournalEntry>), apply: (tx: Sql) => Promise<T>): Promise<T>;
  /** Runs `work` after all earlier changes and before all later ones. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * Opens the journal for appending. If a crash prevented the last entry's change, the next entry takes its number.
 * Throws WAREHOUSE_BEHIND when the file lacks more changes: it is an old copy, or new.
 */
export const openJournal = async (options: {
  readonly dir: string;
  readonly database: Database;
  readonly clock: Clock;
}): Promise<Journal> => {
  const { dir, database, clock } = options;
  const inOrder = createQueue();
  let file: FileHandle | null = null;
  let applied: number | null = await readApplied(database);
  const announced = await lastJournalled(dir);
  if (announced > applied + 1) {
    throw new DuckmirrorError("WAREHOUSE_BEHIND", { file: database.file, applied, announced });
  }

  const closeFile = async () => {
    const open = file;
    file = null;
    await open?.close();
  };
  const append = async (event: JournalEvent) => {
    try {
      if (file === null) {
        const folder = join(dir, month(clock.now()));
        makeOwnFolder(folder);
        file = await openNew(folder, String(event.seq).padStart(12, "0"), JOURNAL);
      }
      const { kind, ...rest } = event.entry;
      await file.appendFile(`{"seq":${event.seq},"entry":${jsonText({ kind, ...rest }).text}}\n`);
      await file.datasync();
    } catch (error) {
      // The failed write may have left half a line, so the next entry goes to a new file.
      await closeFile().catch(() => undefined);
      throw statementError(error);
    }
  };

  return {
    record: (entry, apply) =>
      inOrder(async () => {
        applied ??= await readApplied(database);
        const seq: number = applied + 1;
        await append({ seq, entry: typeof entry === "function" ? await entry() : entry });
        // Until the transaction succeeds, the file's last change is unknown and must be read again.
        applied = null;
        const made = await applyOnce(database, seq, apply);
        applied = seq;
        return made;
      }),
    inTurn: inOrder,
    close: () => inOrder(closeFile),
  };
};
