// A replica over a mirror in memory, and what it answers.
import { writeEnvelope } from "../../../src/replica/envelope.ts";
import { matchRoute } from "../../../src/replica/query/route-match.ts";
import type { Reader } from "../../../src/replica/reader.ts";
import { createReplica, type ReplicaOptions } from "../../../src/replica/replica.ts";
import { openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import { migrate } from "../../../src/warehouse/file/migrate.ts";
import { forFile } from "../../support/for-file.ts";

export const NOW = Date.UTC(2026, 4, 20);

/** An empty mirror, closed after the last test of the file. */
export const aMirror = async () => {
  const database = await forFile(openDatabase(":memory:", { threads: 1, lockedDown: true }));
  await migrate(database, NOW);
  return database;
};

export const aReplica = (database: Reader, more: Partial<ReplicaOptions> = {}) =>
  createReplica({ database, clock: { now: () => NOW }, tier: () => "full", ...more });

/** Body of a 200, as text. */
export const ask = async (
  database: Reader,
  path: string,
  query: Readonly<Record<string, string>> = {},
  more: Partial<ReplicaOptions> = {},
): Promise<string> => {
  const answer = await aReplica(database, more).answer({ match: matchRoute("GET", path), query });
  return writeEnvelope(answer, { requestId: "r", now: NOW, usage: null });
};

/** A reader that passes on each statement, once `seen` has seen it. */
export const watched = (database: Reader, seen: (sql: string) => void): Reader => ({
  query: (sql, params, row) => {
    seen(sql);
    return database.query(sql, params, row);
  },
  cells: (sql, params) => {
    seen(sql);
    return database.cells(sql, params);
  },
});
