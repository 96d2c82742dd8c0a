// Checks whether a replay gives the changes of the feed the same numbers as before. They differ if settings or catalog now make other rows
// of the archive, or if the archive lacks some; then the feed starts again, after numbers that no reader has seen.
import { forgottenId } from "../../core/forgotten.ts";
import type { Database } from "../duckdb/database.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import type { Journal } from "../journal/journal.ts";
import type { JournalEntry } from "../journal/journal-event.ts";
import { readForgottenEntries } from "../journal/read-journal.ts";
import { type RedactedChange, type RedactedChanges, readFeedState } from "../load/change-log.ts";
import { startFeed } from "../load/walks.ts";

/** A new start continues at a multiple of this, beyond what an unrecorded end of a run can have reached. */
const START_STEP = 1_000_000;

/** Changes of erased contacts that a replay cannot repeat, from the whole journal. */
export const redactedChanges = async (archiveDir: string): Promise<RedactedChanges> => {
  const found = new Map<number, RedactedChange>();
  for (const { changes } of await readForgottenEntries(archiveDir)) {
    for (const { n, hash, change, runId, at } of changes) {
      found.set(n, { n, table: "contacts", change, runId, at, key: forgottenId(hash) });
    }
  }
  return found;
};

export interface FeedCheck {
  /** After the change of each entry. */
  note(entry: JournalEntry): Promise<void>;
  /** After the last entry: lets the feed start again if its numbers differ. */
  end(): Promise<void>;
}

export const createFeedCheck = (database: Database): FeedCheck => {
  let highest = 0;
  let differs = false;
  return {
    note: async (entry) => {
      if (entry.kind === "feed-started") differs = false;
      if (entry.kind !== "run-finished") return;
      highest = Math.max(highest, entry.changes);
      if ((await readFeedState(database)).last !== entry.changes) differs = true;
    },
    end: async () => {
      if (!differs) return;
      const after = Math.ceil((Math.max(highest, (await readFeedState(database)).last) + 1) / START_STEP) * START_STEP;
      await database.run(sqlText("warehouse/change-feed-pending.sql"), [after]);
    },
  };
};

/** Starts the feed of an open warehouse if it still has to. `now`: ms since the epoch. */
export const startPendingFeed = async (database: Database, journal: Journal, now: number): Promise<void> => {
  const { last, pending } = await readFeedState(database);
  if (!pending) return;
  const entry = { kind: "feed-started", after: last, now } as const;
  await journal.record(entry, (tx) => startFeed(tx, entry));
};
