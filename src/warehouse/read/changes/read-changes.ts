// Reads a page of the change feed from the snapshot: consecutive numbers, few enough for their rows to fit in memory.
import { z } from "zod";
import { isTableName, type TableName } from "../../../catalog/tables.ts";
import type { Clock } from "../../../core/clock.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import { numberOf, sqlText, textsOf } from "../../duckdb/sql-files.ts";
import { instant, type ReadSql } from "../../duckdb/statements.ts";
import { fileVersion } from "../looks.ts";
import { FOR_ONE_ANSWER, openSnapshot } from "../query.ts";
import type { Change, ChangePage } from "./change.ts";
import { type ChangeHead, readVersions } from "./versions.ts";

export interface ChangesRequest {
  /** Number of the last change that the reader knows; null: start with the oldest one that is kept. */
  readonly after: number | null;
  /** Where `after` is null: start with the first change from this moment on, ms since the epoch. */
  readonly since?: number;
  /** Most changes. A page of large rows holds fewer. */
  readonly limit: number;
  readonly tables: readonly TableName[];
}

/** Characters of records after which a page ends. */
const MOST_CHARACTERS = 8_000_000;
/** Rows read at once while their size is unknown, and at most. */
const FIRST_ROWS = 200;
const MOST_ROWS = 4_000;

const boundsRow = z.object({ last: z.number(), gone_to: z.number() });
const stretchRow = z
  .object({
    first_n: z.number(),
    last_n: z.number(),
    table_name: z.string().refine(isTableName),
    change: z.enum(["insert", "update", "delete"]),
    run_id: z.string().nullable(),
    at: z.number(),
  })
  .transform(({ first_n: first, last_n: last, table_name: table, at, ...head }) => ({
    first,
    last,
    table,
    head: { ...head, at: new Date(at).toISOString() },
  }));
type Stretch = z.output<typeof stretchRow>;

export interface FeedBounds {
  readonly last: number;
  readonly goneTo: number;
}

/** The numbers that the snapshot holds. */
export const readFeedBounds = async (sql: ReadSql): Promise<FeedBounds> => {
  const [bounds] = await sql.query(sqlText("warehouse/change-feed.sql"), [], boundsRow);
  return { last: bounds?.last ?? 0, goneTo: bounds?.gone_to ?? 0 };
};

/** Number of the last change before a moment, ms since the epoch. */
export const lastChangeBefore = async (sql: ReadSql, since: number): Promise<number> =>
  (await numberOf(sql, sqlText("warehouse/changes-before.sql"), [instant(since)])) ?? 0;

/** What the feed knows of change `n`; null: it is not kept. */
export const changeAt = async (sql: ReadSql, n: number): Promise<string | null> =>
  (await textsOf(sql, sqlText("deliver/change-at.sql"), [n]))[0] ?? null;

/** The cursor that a page starts behind. Throws CHANGES_GONE, CHANGES_AHEAD. */
const startOf = async (sql: ReadSql, { after, since }: ChangesRequest, { last, goneTo }: FeedBounds) => {
  if (after === null) {
    if (since === undefined) return goneTo;
    return Math.max(goneTo, await lastChangeBefore(sql, since));
  }
  if (after < goneTo) throw new DuckmirrorError("CHANGES_GONE", { after, gone_to: goneTo, last });
  if (after > last) throw new DuckmirrorError("CHANGES_AHEAD", { after, last });
  return after;
};

/** The next `count` changes behind `after`; fewer at the end of the feed. */
const nextHeads = async (sql: ReadSql, after: number, count: number, tables: readonly TableName[]) => {
  const query = sqlText("warehouse/change-stretches.sql");
  const stretches: readonly Stretch[] = await sql.query(query, [after, [...tables], count], stretchRow);
  const heads = new Map<TableName, ChangeHead[]>();
  let left = count;
  for (const { first, last, table, head } of stretches) {
    const theirs = heads.get(table) ?? [];
    heads.set(table, theirs);
    for (let n = first; n <= last && left > 0; n += 1, left -= 1) theirs.push({ n, ...head });
  }
  return { heads: [...heads].filter(([, theirs]) => theirs.length > 0), isEnd: left > 0 };
};

/**
 * Changes behind `after`, in order. `next` is the last number of the snapshot when there are no more. Throws
 * CHANGES_GONE, CHANGES_AHEAD.
 */
export const readChanges = async (sql: ReadSql, request: ChangesRequest): Promise<ChangePage> => {
  const bounds = await readFeedBounds(sql);
  const { last } = bounds;
  const changes: Change[] = [];
  let next = await startOf(sql, request, bounds);
  let characters = 0;
  let rowsAtOnce = FIRST_ROWS;
  while (next < last && changes.length < request.limit && characters < MOST_CHARACTERS) {
    const count = Math.min(rowsAtOnce, request.limit - changes.length);
    const { heads, isEnd } = await nextHeads(sql, next, count, request.tables);
    const found: Change[] = [];
    for (const [table, theirs] of heads) {
      const read = await readVersions(sql, table, theirs);
      found.push(...read.changes);
      characters += read.characters;
    }
    found.sort((a, b) => a.n - b.n);
    changes.push(...found);
    const perRow = Math.max(1, characters / Math.max(1, changes.length));
    rowsAtOnce = Math.max(1, Math.min(MOST_ROWS, Math.floor((MOST_CHARACTERS - characters) / perRow)));
    next = isEnd ? last : (found.at(-1)?.n ?? last);
  }
  return { changes, next, last };
};

// The feed page by page from the published snapshot, and on request each later snapshot, too.

export interface StreamRequest extends Omit<ChangesRequest, "limit"> {
  readonly snapshot: string;
  /** Most changes; null: all. */
  readonly limit: number | null;
  /** Wait for later snapshots. */
  readonly follow: boolean;
  readonly clock: Clock;
  /** Ends the stream with its reason. */
  readonly signal?: AbortSignal;
}

const PAGE_ROWS = 4_000;
/** Time between two checks for a new snapshot, ms. */
const POLL_MS = 1_000;

async function* pagesOf(request: StreamRequest, limit: number): AsyncGenerator<ChangePage, void> {
  const database = await openSnapshot(request.snapshot, FOR_ONE_ANSWER);
  let { after } = request;
  let left = limit;
  try {
    for (;;) {
      request.signal?.throwIfAborted();
      const rows = Math.min(PAGE_ROWS, left);
      const page = await readChanges(database, { ...request, after, limit: rows });
      after = page.next;
      left -= page.changes.length;
      yield page;
      if (page.next === page.last || left === 0) return;
    }
  } finally {
    await database.close();
  }
}

/**
 * Changes in order, in pages. Throws SNAPSHOT_MISSING, SNAPSHOT_DAMAGED, CHANGES_GONE, CHANGES_AHEAD, and the signal's
 * reason.
 */
export async function* streamChanges(request: StreamRequest): AsyncGenerator<readonly Change[], void> {
  const { snapshot, follow, clock, signal } = request;
  let { after } = request;
  let left = request.limit ?? Number.POSITIVE_INFINITY;
  while (left > 0) {
    const version = fileVersion(snapshot);
    for await (const { changes, next } of pagesOf({ ...request, after }, left)) {
      after = next;
      left -= changes.length;
      if (changes.length > 0) yield changes;
    }
    if (!follow) return;
    for (let found: string | null = version; found === version || found === null; found = fileVersion(snapshot)) {
      await clock.sleep(POLL_MS, signal);
    }
  }
}
