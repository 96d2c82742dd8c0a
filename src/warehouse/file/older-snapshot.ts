// Reads a published snapshot of this or an older version, and shows missing columns and tables with their defaults.
// Does not change the file.
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { literal, quoted } from "../../core/text/sql-text.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";
import { readMigrations, sqlText } from "../duckdb/sql-files.ts";
import { type MirrorReader, mirrorReader, readSnapshot } from "../read/mirror-reader.ts";
import { isUnused } from "./empty-mirror.ts";
import { migrate } from "./migrate.ts";

// Mirrors that a worker has seen. One that vanishes while the worker lives (deleted, or its volume unmounted) is not made
// anew: that would pay for every row again without anybody having asked for it.

const LOOK_EVERY_MS = 60_000;

/** Result of work on a mirror. */
interface Ended {
  /** null: all is done. */
  readonly error: DuckmirrorError | null;
}

export interface SeenMirrors {
  /**
   * Runs `work` on the mirror in `dataDir`. Throws MIRROR_GONE before it if the files of a mirror that was seen are gone;
   * after it, puts MIRROR_GONE in place of its error.
   */
  guard<T extends Ended>(dataDir: string, work: () => Promise<T>): Promise<T>;
}

interface Looking extends SeenMirrors {
  /** Notes which of these directories hold a mirror now. */
  look(dataDirs: readonly string[]): void;
}

/** Whether the directory holds a mirror; null: the file system does not say, as a volume that is away for a moment. */
const holdsMirror = (dir: string): boolean | null => {
  try {
    return !isUnused(dir);
  } catch {
    return null;
  }
};

export const createSeenMirrors = (): Looking => {
  const seen = new Set<string>();
  const look = (dataDirs: readonly string[]) => {
    for (const dir of dataDirs) if (holdsMirror(dir) === true) seen.add(dir);
  };
  const isGone = (dir: string) => seen.has(dir) && holdsMirror(dir) === false;
  const gone = (dir: string, cause?: unknown) => new DuckmirrorError("MIRROR_GONE", { dir }, { cause });
  return {
    look,
    guard: async (dataDir, work) => {
      if (isGone(dataDir)) throw gone(dataDir);
      try {
        const result = await work();
        return result.error !== null && isGone(dataDir) ? { ...result, error: gone(dataDir, result.error) } : result;
      } catch (error) {
        throw isGone(dataDir) ? gone(dataDir, error) : error;
      } finally {
        look([dataDir]);
      }
    },
  };
};

/** Looks at the directories now and every minute, because other processes make mirrors, too. */
export const watchMirrors = (
  dataDirs: readonly string[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): SeenMirrors => {
  const mirrors = createSeenMirrors();
  const keepChecking = async () => {
    while (!signal.aborted) {
      mirrors.look(dataDirs);
      await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
    }
  };
  void keepChecking();
  return mirrors;
};

const columnRow = z.object({
  database: z.string(),
  schema: z.string(),
  table: z.string(),
  column: z.string(),
  fallback: z.string().nullable(),
});
type ColumnRow = z.infer<typeof columnRow>;

const numberRow = z.object({ number: z.int() });

/** True when the snapshot has every migration of this program. */
const isCurrent = async ({ database }: MirrorReader): Promise<boolean> => {
  const applied = await database.query(sqlText("warehouse/applied-migrations.sql"), [], numberRow);
  return readMigrations().every((known) => applied.some(({ number }) => number === known.number));
};

const nameOf = ({ schema, table }: ColumnRow): string => `${quoted(schema)}.${quoted(table)}`;

/** Views over the older file's tables, in place of the empty tables of the same names. */
const viewsOver = (columns: readonly ColumnRow[]): readonly string[] => {
  const known = new Set(
    columns.filter(({ database }) => database === "old").map((row) => `${nameOf(row)}.${row.column}`),
  );
  const own = columns.filter(({ database }) => database !== "old");
  return [...new Set(own.map(nameOf))].flatMap((table) => {
    const rows = own.filter((row) => nameOf(row) === table);
    if (!rows.some(({ column }) => known.has(`${table}.${column}`))) return [];
    const selected = rows.map(({ column, fallback }) =>
      known.has(`${table}.${column}`) ? quoted(column) : `${fallback ?? "NULL"} AS ${quoted(column)}`,
    );
    return [`DROP TABLE ${table}`, `CREATE VIEW ${table} AS SELECT ${selected.join(", ")} FROM old.${table}`];
  });
};

const overlay = async (database: Database, snapshot: string, now: number): Promise<void> => {
  await migrate(database, now);
  await database.run(`ATTACH ${literal(snapshot)} AS old (READ_ONLY)`);
  const columns = await database.query(sqlText("warehouse/columns-of-both.sql"), [], columnRow);
  for (const statement of viewsOver(columns)) await database.run(statement);
};

/** Runs `work` on a snapshot of this or an older version. `now`: ms since the epoch. Throws the error of opening it. */
export const readAnySnapshot = async <T>(
  snapshot: string,
  now: number,
  work: (reader: MirrorReader) => Promise<T>,
): Promise<T> => {
  const current = await readSnapshot(snapshot, async (reader) =>
    (await isCurrent(reader)) ? { result: await work(reader) } : null,
  );
  if (current !== null) return current.result;
  const database = await openDatabase(":memory:", { threads: 1 });
  try {
    await overlay(database, snapshot, now);
    return await work(mirrorReader(database));
  } finally {
    await database.close();
  }
};
