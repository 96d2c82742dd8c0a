// Rewrites the working file, because DuckDB leaves deleted values in unused blocks and a new file never held them.
// Row counts of the copy are compared with the old file before the copy replaces it.
import { chmod, open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import type { MemoryPlan } from "../../core/config/memory-plan.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { literal } from "../../core/text/sql-text.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";
import { statementError } from "../duckdb/duck-errors.ts";
import { STORAGE_VERSION } from "../duckdb/instance.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { besides } from "../file/fresh-folder.ts";

const tableRow = z.object({ path: z.string() });
const countRow = z.object({ fresh: z.number(), old: z.number() });

const checkCounts = async (copier: Database): Promise<void> => {
  for (const { path } of await copier.query(sqlText("warehouse/tables-of-old.sql"), [], tableRow)) {
    const counts = `SELECT (SELECT count(*) FROM fresh.${path}) AS fresh, (SELECT count(*) FROM old.${path}) AS old`;
    const [row] = await copier.query(counts, [], countRow);
    if (row === undefined || row.fresh !== row.old) {
      const detail = `the copy of ${path} holds ${row?.fresh} of ${row?.old} rows`;
      throw new DuckmirrorError("UNEXPECTED", { detail });
    }
  }
};

interface Means {
  /** DuckDB's folder for spilled data. */
  readonly tempDir: string;
  readonly memory: MemoryPlan;
}

const copyInto = async (old: string, fresh: string, { tempDir, memory }: Means): Promise<void> => {
  // The memory limit is fixed: opening again with a higher limit would lose the attached files.
  const copier = await openDatabase(":memory:", { tempDir, memoryLimit: `${memory.ceilingBytes} bytes` });
  try {
    await copier.run(`ATTACH ${literal(old)} AS old (READ_ONLY)`);
    await copier.run(`ATTACH ${literal(fresh)} AS fresh (STORAGE_VERSION ${literal(STORAGE_VERSION)})`);
    await copier.run("COPY FROM DATABASE old TO fresh");
    await checkCounts(copier);
    await copier.run("CHECKPOINT fresh");
    await copier.run("DETACH fresh");
    await copier.run("DETACH old");
  } finally {
    await copier.close();
  }
};

const makeDurable = async (path: string): Promise<void> => {
  const handle = await open(path, "r");
  await handle.sync().finally(() => handle.close());
};

/** Replaces the database's file by a copy of its contents; other calls wait. Throws DISK_FULL, NO_MEMORY. */
export const rewriteFile = async (database: Database, means: Means): Promise<void> => {
  const { file } = database;
  await database.flushWal();
  await database.offline(() =>
    besides(file, async (fresh) => {
      try {
        await copyInto(file, fresh, means);
        await chmod(fresh, 0o600);
        await makeDurable(fresh);
        await rename(fresh, file);
      } catch (error) {
        throw statementError(error);
      }
      await makeDurable(dirname(file));
    }),
  );
};
