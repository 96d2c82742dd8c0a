// Rewrites the working file: erased values disappear, because a new file never held them, and unused blocks are given
// back. The copy is compared with the old file before it takes its place.

import { chmod, mkdtemp, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import type { MemoryPlan } from "../../../core/config/memory-plan.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import { listOwn } from "../../../core/files/own-files.ts";
import { flushToDisk, moveOver } from "../../../core/system.ts";
import { literal } from "../../../core/text/sql-text.ts";
import { type Database, openDatabase } from "../../duckdb/database.ts";
import { statementError } from "../../duckdb/duck-errors.ts";
import { STORAGE_VERSION } from "../../duckdb/instance.ts";
import { sqlText, textsOf } from "../../duckdb/sql-files.ts";

// A folder beside the working file for its successor: its name cannot be guessed, so nobody can plant a link in the file's
// place, which DuckDB would follow.

const PREFIX = "new-";

export const isFreshFolder = (name: string): boolean => name.startsWith(PREFIX);

/** `work` with the path of the successor of `file`; what `work` leaves there is removed. */
export const besides = async <T>(file: string, work: (fresh: string) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(dirname(file), PREFIX));
  try {
    return await work(join(folder, basename(file)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** Removes the folders that killed processes left. The caller holds the writer's lock. */
export const removeFreshFolders = async (file: string): Promise<void> => {
  const folder = dirname(file);
  for (const name of await listOwn(folder)) {
    if (isFreshFolder(name)) await rm(join(folder, name), { recursive: true, force: true });
  }
};

const sameRow = z.object({ fresh: z.number(), old: z.number(), same: z.boolean() });

/** Throws UNEXPECTED unless each table of `fresh` holds the rows of `old`, in any order. */
const compare = async (copier: Database): Promise<void> => {
  for (const path of await textsOf(copier, sqlText("warehouse/tables-of-old.sql"))) {
    const sums = (file: string) => `SELECT count(*) AS n, sum(hash(t)::HUGEINT) AS sums FROM ${file}.${path} AS t`;
    const [row] = await copier.query(
      `SELECT f.n AS fresh, o.n AS old, f.sums IS NOT DISTINCT FROM o.sums AS same FROM (${sums("fresh")}) AS f, (${sums("old")}) AS o`,
      [],
      sameRow,
    );
    if (row === undefined || row.fresh !== row.old || !row.same) {
      const detail = `the copy of ${path} holds ${row?.fresh} of ${row?.old} rows, or other values`;
      throw new DuckmirrorError("UNEXPECTED", { detail });
    }
  }
};

export interface RewriteMeans {
  /** DuckDB's folder for spilled data. */
  readonly tempDir: string;
  readonly memory: MemoryPlan;
}

/** Copies the contents of the closed file `old` to the new file `fresh`, and compares the two. */
export const copyContents = async (old: string, fresh: string, { tempDir, memory }: RewriteMeans): Promise<void> => {
  // The memory limit is fixed: opening again with a higher limit would lose the attached files.
  const copier = await openDatabase(":memory:", { tempDir, memoryLimit: `${memory.ceilingBytes} bytes` });
  try {
    // The commit moves everything into the file at once. A WAL, of a file that nobody opens after a crash, would be written
    // in vain, and takes up to twice what the file does.
    await copier.run("SET GLOBAL checkpoint_threshold = '0B'");
    await copier.run(`ATTACH ${literal(old)} AS old (READ_ONLY)`);
    await copier.run(`ATTACH ${literal(fresh)} AS fresh (STORAGE_VERSION ${literal(STORAGE_VERSION)})`);
    await copier.run("COPY FROM DATABASE old TO fresh");
    await compare(copier);
    await copier.run("CHECKPOINT fresh");
    await copier.run("DETACH fresh");
    await copier.run("DETACH old");
  } finally {
    await copier.close();
  }
};

/** Replaces the database's file by a copy of its contents; other calls wait. Throws DISK_FULL, NO_MEMORY. */
export const rewriteFile = async (database: Database, means: RewriteMeans): Promise<void> => {
  const { file } = database;
  await database.flushWal();
  await database.offline(() =>
    besides(file, async (fresh) => {
      try {
        await copyContents(file, fresh, means);
        await chmod(fresh, 0o600);
        await flushToDisk(fresh);
        await moveOver(fresh, file);
      } catch (error) {
        throw statementError(error);
      }
      await flushToDisk(dirname(file));
    }),
  );
};
