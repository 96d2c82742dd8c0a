// Publishes the snapshot, or, after a sync that found nothing new, leaves the old one and notes the look beside it: a
// publish writes the whole file (docs/decisions/publishing.md).
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { appendOwn, replaceFile } from "../../core/files/own-files.ts";
import type { Database } from "../duckdb/database.ts";
import { statementError } from "../duckdb/duck-errors.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import {
  fileVersion,
  type Look,
  type Looks,
  lookCreditsRow,
  lookRunRow,
  looksFile,
  looksHead,
  lookTableRow,
  readLooks,
} from "../read/looks.ts";
import { type Compacted, compact } from "./publish/compact.ts";
import type { Keeping } from "./publish/keep-snapshots.ts";
import { type Published, publishSnapshot } from "./publish/publish.ts";
import type { RewriteMeans } from "./publish/rewrite-file.ts";

/** When a sync without news publishes nevertheless. */
export interface PublishPolicy {
  /** Age of the snapshot, ms. */
  readonly everyMs: number;
  /** Smaller snapshots are always published. */
  readonly belowBytes: number;
}

/** Looks after which a snapshot is published whatever its age, so that their file stays small. */
const MOST_LOOKS = 100;

const newsRow = z.object({ news: z.string() });

const readNews = async (database: Database): Promise<string> =>
  (await database.query(sqlText("warehouse/news.sql"), [], newsRow))[0]?.news ?? "";

const freshnessRow = lookTableRow.extend({ stream: z.string() });

/** Times of checks by table and by stream, whose tables share them. */
const readFreshness = async (database: Database): Promise<Pick<Look, "tables" | "streams">> => {
  const rows = await database.query(sqlText("server/freshness.sql"), [], freshnessRow);
  const streams = new Map(
    rows.map(
      ({
        stream,
        last_checked_at: last_check_at,
        oldest_checked_at: oldest_check_at,
        oldest_walked_at: oldest_walk_at,
      }) => [stream, { stream, last_check_at, oldest_check_at, oldest_walk_at }],
    ),
  );
  return { tables: rows.map(({ stream: _, ...table }) => table), streams: [...streams.values()] };
};

const lookOf = async (database: Database, runId: string): Promise<Look | null> => {
  const [run] = await database.query(sqlText("status/run-of-look.sql"), [runId], lookRunRow);
  if (run === undefined) return null;
  const [credits] = await database.query(sqlText("status/credits.sql"), [], lookCreditsRow);
  return { run, ...(await readFreshness(database)), credits: credits ?? null };
};

export interface PublishPlace {
  readonly database: Database;
  readonly snapshot: string;
  readonly means: RewriteMeans;
  /** Which earlier snapshots stay; null: those that are kept already. */
  readonly keeping: Keeping | null;
  /** ms since the epoch. */
  readonly now: () => number;
}

export interface PublishedFile extends Published {
  /** null: the working file had few unused blocks. */
  readonly compacted: Compacted | null;
}

/** Publishes, after a rewrite if the file has many unused blocks. */
export const publishNow = async ({ database, snapshot, means, keeping, now }: PublishPlace): Promise<PublishedFile> => {
  const last = fileVersion(snapshot) === null ? null : (readLooks(snapshot)?.rewritten ?? null);
  const { compacted, rewritten } = await compact(database, means, last);
  const news = await readNews(database);
  const published = await publishSnapshot(database, snapshot, {
    monotonicMs: () => performance.now(),
    now,
    keeping,
  });
  await replaceFile(looksFile(dirname(snapshot)), looksHead(snapshot, { published_at: now(), news, rewritten }));
  return { ...published, compacted };
};

/** True when the snapshot may stay, because its readers would see nothing new in another. */
const mayStay = async ({ snapshot, now }: PublishPlace, policy: PublishPolicy, known: Looks): Promise<boolean> => {
  const age = now() - known.publishedAt;
  // A negative age: the clock was set back.
  if (age < 0 || age >= policy.everyMs || known.looks.length >= MOST_LOOKS) return false;
  const { size } = await stat(snapshot);
  return size >= policy.belowBytes;
};

/** Publishes if a reader would see something new, or the snapshot is due; else notes the run's look and returns null. */
export const publishNews = async (
  place: PublishPlace,
  policy: PublishPolicy,
  runId: string,
): Promise<PublishedFile | null> => {
  const { database, snapshot } = place;
  const known = fileVersion(snapshot) === null ? null : readLooks(snapshot);
  if (known === null || !(await mayStay(place, policy, known))) return publishNow(place);
  if (known.news !== (await readNews(database))) return publishNow(place);
  const look = await lookOf(database, runId);
  if (look === null) return publishNow(place);
  // The line end before it ends a line that a crash cut off.
  try {
    appendOwn(looksFile(dirname(snapshot)), `\n${JSON.stringify(look)}\n`);
  } catch (error) {
    throw statementError(error);
  }
  return null;
};
