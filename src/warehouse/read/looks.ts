// Looks: syncs that published no snapshot, because they found nothing new or a check failed. Each is a line in state/looks.ndjson with what
// a new snapshot would have said of it: its run, times of checks, credits. Readers add these lines to the snapshot's own figures. The first
// line names the snapshot; a publish starts the file anew.

import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { readOwnSync } from "../../core/files/own-files.ts";
import { jsonOrNull } from "../../core/json.ts";
import { numberOf, sqlText } from "../duckdb/sql-files.ts";
import type { ReadSql } from "../duckdb/statements.ts";
import { type CheckResult, checkResultRow, readCheckResults } from "./check-results.ts";

const LOOKS_NAME = "looks.ndjson";

export const looksFile = (dataDir: string): string => join(dataDir, "state", LOOKS_NAME);

const count = z.number();
/** ms since the epoch. */
const time = z.number();
const instant = time.nullable();

const headSchema = z.object({
  v: z.literal(1),
  /** `fileVersion` of the snapshot. */
  snapshot: z.string(),
  published_at: time,
  /** What the snapshot's readers see (sql/warehouse/news.sql). */
  news: z.string(),
  /** The working file after its last rewrite. */
  rewritten: z.object({ bytes: z.number(), rows: z.number() }),
});

export const lookRunRow = z.object({
  run_id: z.string(),
  mode: z.string(),
  status: z.string(),
  started_at: time,
  finished_at: instant,
  error: z.string().nullable(),
  /** The report, as JSON text. */
  summary: z.string().nullable(),
  forecast_requests: count.nullable(),
  requests: count,
  credits: count,
  failed_requests: count,
});

export const lookTableRow = z.object({
  table_name: z.string(),
  last_checked_at: instant,
  oldest_checked_at: instant,
  oldest_walked_at: instant,
  due_at: instant,
});

export const lookCreditsRow = z.object({
  credit_limit: count.nullable(),
  used: count.nullable(),
  remaining: count,
  resets_at: instant,
  captured_at: time,
  spent_here: count,
  ambiguous_here: count,
  late_here: count,
});

/** The service's last figures, and this mirror's spending. */
export type LookCredits = z.output<typeof lookCreditsRow>;

export const lookSchema = z.object({
  run: lookRunRow,
  tables: z.array(lookTableRow),
  /** null: the service has not reported any. */
  credits: lookCreditsRow.nullable(),
  /** Results of the checks that kept the snapshot, without their rows; empty: none did. */
  checks: z.array(checkResultRow),
});
/** What one sync without news would have changed in a snapshot. */
export type Look = z.output<typeof lookSchema>;

/** The head of the file, and the looks, the oldest first. */
export interface Looks extends z.output<typeof headSchema> {
  readonly looks: readonly Look[];
}

/** Identity of a file: another one for each publish. null: there is none. */
export const fileVersion = (path: string): string | null => {
  const file = statSync(path, { throwIfNoEntry: false, bigint: true });
  return file?.isFile() ? `${file.ino}-${file.mtimeNs}` : null;
};

const textOf = (dataDir: string): string => {
  const file = looksFile(dataDir);
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return "";
  return readOwnSync(file).toString("utf8");
};

/** When the snapshot was published, as it says itself, ms since the epoch; null: it was made by no run. */
export const readPublishedAt = (sql: ReadSql): Promise<number | null> =>
  numberOf(sql, sqlText("warehouse/published.sql"));

/** Looks since the snapshot was published; null when the file belongs to another snapshot, is missing or damaged. */
export const readLooks = (snapshot: string): Looks | null => {
  const [first = "", ...lines] = textOf(dirname(snapshot)).split("\n");
  const head = headSchema.safeParse(jsonOrNull(first));
  if (!head.success || head.data.snapshot !== fileVersion(snapshot)) return null;
  const looks = lines.flatMap((line) => {
    const look = lookSchema.safeParse(jsonOrNull(line));
    return look.success ? [look.data] : [];
  });
  return { ...head.data, looks };
};

export const looksHead = (snapshot: string, head: Omit<z.output<typeof headSchema>, "v" | "snapshot">): string =>
  `${JSON.stringify({ v: 1, snapshot: fileVersion(snapshot), ...head })}\n`;

/** Looks since the snapshot was published, oldest first. */
export const looksSince = (snapshot: string): readonly Look[] => readLooks(snapshot)?.looks ?? [];

/** Results of the user's checks, the worst first: of a sync that they kept from the snapshot, else its own. */
export const checksNow = async (sql: ReadSql, looks: readonly Look[]): Promise<readonly CheckResult[]> => {
  const kept = looks.at(-1)?.checks ?? [];
  return kept.length > 0 ? kept : readCheckResults(sql);
};
