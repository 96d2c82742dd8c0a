// Publishes the snapshot after a sync, if anything changed; else it leaves the old one and appends a line to state/looks.ndjson
// (read/looks.ts), because a publish writes the whole file. Compacts the working file if that is worth it. docs/decisions/publishing.md.

import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { type DuckmirrorError, detailOf } from "../../core/errors.ts";
import { appendOwn, replaceFile } from "../../core/files/own-files.ts";
import type { Database } from "../duckdb/database.ts";
import { statementError } from "../duckdb/duck-errors.ts";
import { numberOf, sqlText, textsOf } from "../duckdb/sql-files.ts";
import { type CheckResult, isFailedError, withoutSample } from "../read/check-results.ts";
import {
  type Look,
  type Looks,
  lookCreditsRow,
  lookRunRow,
  looksFile,
  looksHead,
  lookTableRow,
  readLooks,
} from "../read/looks.ts";
import { type ChecksSetting, checkProblem, noteChecks, runChecks, withoutValues } from "./checks/run-checks.ts";
import type { Keeping } from "./publish/keep-snapshots.ts";
import { type MirrorHome, type Published, publishSnapshot, stampPublished } from "./publish/publish.ts";
import { type RewriteMeans, rewriteFile } from "./publish/rewrite-file.ts";

// Decides when a publish rewrites the working file first, so that it stays within 1.5 times its contents: when a third of
// its blocks is unused, or its rows take half as much again as after the last rewrite.

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

const countRows = async (database: Database): Promise<number> => {
  const tables = await textsOf(database, sqlText("warehouse/own-tables.sql"));
  const counts = tables.map((path) => `SELECT count(*) AS n FROM ${path}`).join(" UNION ALL ");
  return (await numberOf(database, `SELECT sum(n)::DOUBLE FROM (${counts})`)) ?? 0;
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

/** When a sync without news publishes nevertheless. */
export interface PublishPolicy {
  /** Age of the snapshot, ms. */
  readonly everyMs: number;
  /** Smaller snapshots are always published. */
  readonly belowBytes: number;
  /** The run erased what readers must lose, whatever the checks say. */
  readonly hasErased?: boolean;
}

/** Looks after which a snapshot is published whatever its age, so that their file stays small. */
const MOST_LOOKS = 100;

const readNews = async (database: Database): Promise<string> =>
  (await textsOf(database, sqlText("warehouse/news.sql")))[0] ?? "";

const lookOf = async (database: Database, runId: string): Promise<Look | null> => {
  const [run] = await database.query(sqlText("status/run-of-look.sql"), [runId], lookRunRow);
  if (run === undefined) return null;
  const [credits] = await database.query(sqlText("status/credits.sql"), [], lookCreditsRow);
  const tables = await database.query(sqlText("status/freshness.sql"), [], lookTableRow);
  return { run, tables: [...tables], credits: credits ?? null, checks: [] };
};

export interface PublishPlace {
  readonly database: Database;
  readonly snapshot: string;
  readonly means: RewriteMeans;
  /** Which earlier snapshots stay; null: those that are kept already. */
  readonly keeping: Keeping | null;
  /** What must pass first; null: nothing; undefined: the caller publishes whatever the checks would say. */
  readonly checks: ChecksSetting | null | undefined;
  /** Ends the checks soon after an interruption. */
  readonly stop?: AbortSignal | undefined;
  readonly home?: MirrorHome | undefined;
  /** ms since the epoch. */
  readonly now: () => number;
}

export interface PublishedFile extends Published {
  /** CHECK_BROKEN: checks that could not run; CHECK_FAILED: an erasure was published all the same; null: none. */
  readonly broken: DuckmirrorError | null;
  /** null: the working file had few unused blocks. */
  readonly compacted: Compacted | null;
}

const noteLook = async (snapshot: string, { looks, ...head }: Looks, look: Look): Promise<void> => {
  const line = JSON.stringify(look);
  const whole = `${looksHead(snapshot, head)}${line}\n`;
  try {
    // Checks may keep a snapshot for weeks. The line end before a line ends one that a crash cut off.
    if (looks.length >= MOST_LOOKS) await replaceFile(looksFile(dirname(snapshot)), whole);
    else appendOwn(looksFile(dirname(snapshot)), `\n${line}\n`);
  } catch (error) {
    throw statementError(error);
  }
};

/** Notes beside the present snapshot the run whose rows a check keeps from it: its tables are as old as before. */
const noteKept = async (
  { database, snapshot }: PublishPlace,
  runId: string,
  results: readonly CheckResult[],
): Promise<void> => {
  const known = readLooks(snapshot);
  const look = known === null ? null : await lookOf(database, runId);
  if (known === null || look === null) return;
  const { tables = [] } = known.looks.at(-1) ?? {};
  await noteLook(snapshot, known, { ...look, tables, checks: results.map(withoutSample) });
};

/**
 * Runs the checks, and notes what they found. Returns CHECK_BROKEN; throws CHECK_FAILED, which keeps the present snapshot. After an erasure
 * it returns that, too: readers would keep what was to go.
 */
const passChecks = async (place: PublishPlace, runId: string | null, hasErased: boolean) => {
  const { database, checks, now, stop } = place;
  if (checks === undefined) return null;
  const found = checks === null ? [] : await runChecks(database, checks, { runId, now: now(), stop });
  const results = found.map(withoutValues);
  await noteChecks(database, results);
  const problem = checkProblem(results);
  if (problem !== null && runId !== null) {
    await database.run(sqlText("warehouse/fail-run.sql"), [runId, problem.code]);
    if (!hasErased && results.some(isFailedError)) await noteKept(place, runId, results);
  }
  if (!hasErased && problem?.code === "CHECK_FAILED") throw problem;
  return problem;
};

/** Publishes what passes the checks, after a rewrite if the file has many unused blocks. Throws CHECK_FAILED, INTERRUPTED. */
export const publishNow = async (
  place: PublishPlace,
  runId: string | null = null,
  hasErased = false,
): Promise<PublishedFile> => {
  const { database, snapshot, means, keeping, home, now } = place;
  const broken = await passChecks(place, runId, hasErased);
  const last = readLooks(snapshot)?.rewritten ?? null;
  await stampPublished(database, now());
  const { compacted, rewritten } = await compact(database, means, last);
  const news = await readNews(database);
  const published = await publishSnapshot(database, snapshot, { now, keeping, home });
  await replaceFile(looksFile(dirname(snapshot)), looksHead(snapshot, { published_at: now(), news, rewritten }));
  return { ...published, compacted, broken };
};

/** True when the snapshot may stay, because its readers would see nothing new in another. */
const mayStay = async ({ snapshot, now }: PublishPlace, policy: PublishPolicy, known: Looks): Promise<boolean> => {
  const age = now() - known.published_at;
  // A negative age: the clock was set back.
  if (age < 0 || age >= policy.everyMs || known.looks.length >= MOST_LOOKS) return false;
  const { size } = await stat(snapshot);
  return size >= policy.belowBytes;
};

/** Publishes if a reader would see something new, or the snapshot is due; else notes the run's look and returns null. */
export const publishIfChanged = async (
  place: PublishPlace,
  policy: PublishPolicy,
  runId: string,
): Promise<PublishedFile | null> => {
  const { database, snapshot } = place;
  const known = readLooks(snapshot);
  const publish = () => publishNow(place, runId, policy.hasErased);
  if (known === null || !(await mayStay(place, policy, known))) return publish();
  if (known.news !== (await readNews(database))) return publish();
  const look = await lookOf(database, runId);
  if (look === null) return publish();
  await noteLook(snapshot, known, look);
  return null;
};
