// Decides when a publish rewrites the working file first, so that it stays within 1.5 times its contents: when a third of
// its blocks is unused, or its rows take half as much again as after the last rewrite.
import { z } from "zod";
import { detailOf } from "../../../core/errors.ts";
import type { Database } from "../../duckdb/database.ts";
import { sqlText } from "../../duckdb/sql-files.ts";
import { type RewriteMeans, rewriteFile } from "./rewrite-file.ts";

/** Share of unused blocks from which a rewrite is worth its cost. */
const MOST_UNUSED = 1 / 3;
/** Size, of what its rows took after the last rewrite, from which another one is: blocks in use may be nearly empty. */
const MOST_GROWTH = 1.5;
/** Bytes that are left alone whatever their share. */
const LEFT_ALONE = 1024 * 1024;
/** Times as many rows, after which the size of then says nothing about now. */
const OTHER_MIRROR = 4;

const blocksRow = z
  .object({ total_blocks: z.number(), free_blocks: z.number(), block_size: z.number() })
  .transform((row) => ({ bytes: row.total_blocks * row.block_size, unused: row.free_blocks * row.block_size }));

/** A rewrite of a file with many unused blocks. */
export interface Compacted {
  readonly bytesBefore: number;
  /** Bytes after; null: it failed, and the file is as before. */
  readonly bytesAfter: number | null;
  readonly problem: string | null;
}

const blocksOf = async (database: Database) =>
  (await database.query(sqlText("status/file-blocks.sql"), [], blocksRow))[0] ?? { bytes: 0, unused: 0 };

/** Size of the working file after a rewrite, and the rows of all its tables then. */
export interface Rewritten {
  readonly bytes: number;
  readonly rows: number;
}

const tableRow = z.object({ path: z.string() });
const countRow = z.object({ n: z.number() });

const countRows = async (database: Database): Promise<number> => {
  const tables = await database.query(sqlText("warehouse/own-tables.sql"), [], tableRow);
  const counts = tables.map(({ path }) => `SELECT count(*) AS n FROM ${path}`).join(" UNION ALL ");
  return (await database.query(`SELECT sum(n)::DOUBLE AS n FROM (${counts})`, [], countRow))[0]?.n ?? 0;
};

/** Whether the rows of now would take much less space than they do. */
const isLoose = (now: Rewritten, last: Rewritten): boolean => {
  const expected = last.bytes * Math.max(1, now.rows / Math.max(1, last.rows));
  return now.bytes > expected * MOST_GROWTH && now.bytes - expected > LEFT_ALONE;
};

/**
 * Rewrites the file if more than a third of it is unused, or its rows take half as much again as after the last rewrite
 * (`last`; null: unknown). A failed rewrite is reported, not thrown, because the file is intact. `compacted` is null
 * when there was nothing to do; `rewritten` is what the next call needs as `last`.
 */
export const compact = async (
  database: Database,
  means: RewriteMeans,
  last: Rewritten | null,
): Promise<{ readonly compacted: Compacted | null; readonly rewritten: Rewritten }> => {
  await database.flushWal();
  const { bytes, unused } = await blocksOf(database);
  const isUnused = unused > bytes * MOST_UNUSED && unused > LEFT_ALONE;
  // Counting takes a statement, so only when the file has grown.
  if (!isUnused && last !== null && bytes <= last.bytes * MOST_GROWTH) return { compacted: null, rewritten: last };
  const now = { bytes, rows: await countRows(database) };
  const known = last === null || now.rows > last.rows * OTHER_MIRROR ? now : last;
  if (!isUnused && !isLoose(now, known)) return { compacted: null, rewritten: known };
  try {
    await rewriteFile(database, means);
    const { bytes: bytesAfter } = await blocksOf(database);
    const compacted = { bytesBefore: bytes, bytesAfter, problem: null };
    return { compacted, rewritten: { bytes: bytesAfter, rows: now.rows } };
  } catch (error) {
    return { compacted: { bytesBefore: bytes, bytesAfter: null, problem: detailOf(error) }, rewritten: known };
  }
};
