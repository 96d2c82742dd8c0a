// Redacts erased contacts in the change feed: their changes keep number, time and kind, and lose key and values. The
// rows that go now are one more delete each.
import { z } from "zod";
import { forgottenId } from "../../core/forgotten.ts";
import type { Sql } from "../duckdb/statements.ts";
import { openChangeLog } from "../load/change-log.ts";
import { forgottenKind } from "../load/change-numbers.ts";
import type { Person } from "./rows.ts";

const changeRow = z.object({
  n: z.number(),
  id: z.string(),
  change: z.enum(["insert", "update", "delete"]),
  run_id: z.string().nullable(),
  at: z.number(),
});
const idRow = z.object({ id: z.string() });

/** Part of the people in the feed, as the journal records it. */
export interface FeedTraces {
  /** Their changes, in order. */
  readonly changes: readonly {
    readonly n: number;
    readonly hash: string;
    readonly change: "insert" | "update" | "delete";
    readonly runId: string | null;
    readonly at: number;
  }[];
  /** Hashes of those who have a row in the contacts table, in the order of their ids. */
  readonly deleted: readonly string[];
}

/** Changes and present rows of the people. */
export const findInFeed = async (sql: Sql, people: readonly Person[]): Promise<FeedTraces> => {
  const hashes = new Map(people.map(({ id, hash }) => [id, hash]));
  const hashOf = (id: string) => hashes.get(id) ?? "";
  const ids = [...hashes.keys()];
  const changes = await sql.query(
    `SELECT c.n, c.key_1 AS id, b.change, b.run_id, b."at"
     FROM (FROM sync.changes WHERE key_1 IN (SELECT unnest($1))) AS c
     ASOF JOIN sync.change_batches AS b ON c.n >= b.first_n
     WHERE b.table_name = 'contacts' ORDER BY c.n`,
    [ids],
    changeRow,
  );
  const current = await sql.query(
    "SELECT id FROM main.contacts WHERE id IN (SELECT unnest($1)) ORDER BY id",
    [ids],
    idRow,
  );
  return {
    changes: changes.map(({ n, id, change, run_id: runId, at }) => ({ n, hash: hashOf(id), change, runId, at })),
    deleted: current.map(({ id }) => hashOf(id)),
  };
};

/** Redacts them inside `tx`. `now`: ms since the epoch. */
export const redactInFeed = async (tx: Sql, { changes, deleted }: FeedTraces, now: number): Promise<void> => {
  const numbers = new Map<string, string[]>();
  for (const { n, hash } of changes) numbers.set(hash, [...(numbers.get(hash) ?? []), String(n)]);
  for (const [hash, theirs] of numbers) {
    await tx.run("UPDATE sync.changes SET key_1 = $1 WHERE n IN (SELECT CAST(unnest($2) AS BIGINT))", [
      forgottenId(hash),
      theirs,
    ]);
  }
  const log = openChangeLog(tx);
  await log.addRedacted(forgottenKind(now), deleted.map(forgottenId));
  await log.end();
};
