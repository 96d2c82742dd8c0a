// Applies changes of the working database by checkpoint: rows and list states of a commit, deletes, scope marks, capabilities, run starts and
// ends. Live, it writes the journal entry first; a replay applies the same without one. So a replay repeats every change except what retention
// removes, and the next sync removes that again. Erasures and new starts of the feed have journal entries of their own (forget, feed-check).
import type { TableName } from "../../catalog/tables.ts";
import { forgottenId } from "../../core/forgotten.ts";
import { type JsonValue, jsonText } from "../../core/json.ts";
import type { Database } from "../duckdb/database.ts";
import { numberOf, sqlText } from "../duckdb/sql-files.ts";
import { instant, type Sql } from "../duckdb/statements.ts";
import { commitEntry, type Journal } from "../journal/journal.ts";
import type { JournalEntry } from "../journal/journal-event.ts";
import { changesByMark, markStatements, type ScopeMark } from "../journal/scope-mark.ts";
import type { ChangeCounts, Checkpoint, LoadCounts, TableLoad } from "../record/checkpoint.ts";
import type { TableStrictness } from "../record/normalize-record.ts";
import {
  forgottenKind,
  NOTHING_REDACTED,
  openChangeLog,
  type RedactedChanges,
  readFeedState,
  redactedUpTo,
} from "./change-log.ts";
import { writeCheckpoint, writeScopeStates } from "./commit.ts";
import * as walks from "./walks.ts";
import { startFeed } from "./walks.ts";

export interface RunStart {
  readonly runId: string;
  readonly mode: string;
  /** ms since the epoch. */
  readonly startedAt: number;
  /** Requests, credits and time announced by the plan. */
  readonly forecast?: JsonValue;
}

export interface RunEnd {
  readonly status: string;
  /** ms since the epoch. */
  readonly finishedAt: number;
  readonly summary: JsonValue;
  readonly error?: string | null;
}

export interface DeleteMissing extends walks.WalkScope {
  /** Count from `missing`. If the number differs now, nothing is deleted. */
  readonly expected: number;
  readonly runId: string;
  /** ms since the epoch: `valid_to` of the deleted versions. */
  readonly now: number;
  /** Stored in the same transaction. */
  readonly scope?: Checkpoint["scopes"][number];
}

export interface DeleteKeys {
  readonly table: TableName;
  /** Ids as text, the last column of the table's key. */
  readonly ids: readonly string[];
  readonly company?: string;
  readonly runId: string;
  readonly now: number;
}

/** The changes that a warehouse can make. Each is journalled, then made in one transaction. */
export interface Changes {
  startRun(run: RunStart): Promise<void>;
  /** Records the end of a run, and marks what follows accounts and followed inputs as inside or outside the row scope. */
  finishRun(runId: string, end: RunEnd): Promise<void>;
  /** Commits in one transaction; see commit.ts. Returns the counts of each load, in order. */
  commit(checkpoint: Checkpoint): Promise<readonly LoadCounts[]>;
  /** `value` is JSON text; `now` in ms since the epoch. */
  setCapability(name: string, value: string, now: number): Promise<void>;
  /**
   * Moves rows that the walk did not return to history, drops the walk's keys, stores the state. Returns the number
   * of deleted rows.
   */
  deleteMissing(request: DeleteMissing): Promise<number>;
  /** Moves rows to history for which the service answers 404. Returns the number of deleted rows. */
  deleteKeys(request: DeleteKeys): Promise<number>;
  /** Marks rows as inside or outside the row scope. Returns the number of rows whose mark changed. */
  mark(mark: ScopeMark): Promise<number>;
}

type OtherEntry = Exclude<JournalEntry, { kind: "commit" }>;

/** Adds deletes of erased contacts to the feed, behind the redacted changes that a replay has reached. */
const addRedacted = async (tx: Sql, keys: readonly string[], now: number, past: RedactedChanges): Promise<void> => {
  const log = openChangeLog(tx, past);
  await log.addRedacted(forgottenKind(now), keys);
  await log.end();
};

/** Deletes rows that the service no longer returns. Returns their number. */
const carryOutDelete = async (tx: Sql, entry: Extract<OtherEntry, { kind: "deleted" }>, past: RedactedChanges) => {
  const { table, runId, now } = entry;
  const log = openChangeLog(tx, past);
  const deleted = await walks.deleteMissing(tx, { table, runId, now, log }, entry.gone);
  await log.end();
  if (entry.walkId !== null) await walks.dropWalk(tx, entry.walkId);
  if (entry.scope !== null) await writeScopeStates(tx, [entry.scope]);
  return deleted;
};

const makeMark = async (tx: Sql, mark: ScopeMark): Promise<number> => {
  let changed = 0;
  for (const statement of markStatements(mark)) changed += await tx.run(statement);
  return changed;
};

/** Makes a change that is not a commit. Returns the number of rows that it deleted or marked. */
const carryOut = async (tx: Sql, entry: OtherEntry, past = NOTHING_REDACTED): Promise<number> => {
  switch (entry.kind) {
    case "run-started": {
      const forecast = entry.forecast === null ? null : jsonText(entry.forecast).text;
      const run = [entry.runId, entry.mode, instant(entry.startedAt), forecast];
      await tx.run(sqlText("warehouse/start-run.sql"), run);
      return 0;
    }
    case "run-finished": {
      const summary = jsonText(entry.summary).text;
      const end = [entry.runId, entry.status, instant(entry.finishedAt), summary, entry.error];
      await tx.run(sqlText("warehouse/finish-run.sql"), end);
      // In this transaction, so that a replay marks them at the same moment.
      await makeMark(tx, { of: "followers" });
      if (past.size > 0) await addRedacted(tx, [], entry.finishedAt, redactedUpTo(past, entry.changes));
      return 0;
    }
    case "learned":
      await tx.run(sqlText("warehouse/set-capability.sql"), [entry.name, entry.value, instant(entry.now)]);
      return 0;
    case "forgotten": {
      await tx.run(sqlText("warehouse/forgotten-rows.sql"), [entry.rows]);
      if (entry.deleted.length > 0) await addRedacted(tx, entry.deleted.map(forgottenId), entry.now, past);
      return 0;
    }
    case "feed-started":
      await startFeed(tx, entry, past);
      return 0;
    case "marked":
      return makeMark(tx, entry.mark);
    case "deleted":
      return carryOutDelete(tx, entry, past);
    default:
      return entry satisfies never;
  }
};

/**
 * Makes a change from the journal. `loads`: the rows of a commit, in the order of the entry. `past`: changes of the feed
 * that the archive can repeat no longer.
 */
export const replayChange = async (
  tx: Sql,
  entry: JournalEntry,
  loads: readonly TableLoad[],
  strictness: TableStrictness,
  past: RedactedChanges,
): Promise<void> => {
  if (entry.kind !== "commit") {
    await carryOut(tx, entry, past);
    return;
  }
  const { runId, requests, scopes, quota } = entry;
  await writeCheckpoint(tx, { runId, loads, requests, scopes, quota }, strictness, past);
};

/** The changes of an open warehouse, and how often each table was changed. */
export const journalledChanges = (
  database: Database,
  journal: Journal,
  strictness: TableStrictness,
): Changes & ChangeCounts => {
  const changes = new Map<TableName, number>();
  const count = (table: TableName) => void changes.set(table, (changes.get(table) ?? 0) + 1);
  const change = async (entry: Exclude<JournalEntry, { kind: "commit" }>) => {
    await journal.record(entry, (tx) => carryOut(tx, entry));
  };
  return {
    changesOf: (table) => changes.get(table) ?? 0,
    startRun: ({ runId, mode, startedAt, forecast = null }) =>
      change({ kind: "run-started", runId, mode, startedAt, forecast }),
    finishRun: async (runId, { status, finishedAt, summary, error = null }) => {
      const end = { kind: "run-finished", runId, status, finishedAt, summary, error } as const;
      await journal.record(
        async () => ({ ...end, changes: (await readFeedState(database)).last }),
        // Only a replay reads the number.
        (tx) => carryOut(tx, { ...end, changes: 0 }),
      );
    },
    setCapability: (name, value, now) => change({ kind: "learned", name, value, now }),
    commit: async (checkpoint) => {
      const { loads, requests, scopes, quota } = checkpoint;
      if (loads.length === 0 && requests.length === 0 && scopes.length === 0 && quota === null) return [];
      const write = (tx: Sql) => writeCheckpoint(tx, checkpoint, strictness);
      const counts = await journal.record(commitEntry(checkpoint), write);
      for (const [nth, { inserted, updated }] of counts.entries()) {
        const table = loads[nth]?.table;
        if (table !== undefined && inserted + updated > 0) count(table);
      }
      return counts;
    },
    deleteMissing: async ({ table, walkId, company, expected, runId, now, scope = null }) => {
      let gone: readonly walks.MissingRows[] = [];
      const entry = async (): Promise<JournalEntry> => {
        gone = await walks.missingIds(database, { table, walkId, ...(company === undefined ? {} : { company }) });
        const count = walks.countMissing(gone);
        // If the walk's keys were dropped meanwhile, every row would count as missing.
        if (count !== expected) throw new TypeError(`${table}: ${count} rows would go, ${expected} were counted`);
        return { kind: "deleted", runId, table, gone, now, walkId, scope };
      };
      const write = (tx: Sql) => carryOut(tx, { kind: "deleted", runId, table, gone, now, walkId, scope });
      return journal.record(entry, write).finally(() => count(table));
    },
    deleteKeys: async ({ table, ids, company = null, runId, now }) => {
      const gone = [{ company, ids }];
      const entry = { kind: "deleted", runId, table, gone, now, walkId: null, scope: null } as const;
      return journal.record(entry, (tx) => carryOut(tx, entry)).finally(() => count(table));
    },
    mark: async (mark) => {
      if ((await numberOf(database, changesByMark(mark))) === null) return 0;
      const entry = { kind: "marked", mark } as const;
      return journal.record(entry, (tx) => carryOut(tx, entry));
    },
  };
};
