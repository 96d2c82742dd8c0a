// The working file: its path in the data directory, the lock that makes this process its only writer, opening it, and creating an empty
// one.
import { accessSync, constants, existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import { chmod, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Clock } from "../../core/clock.ts";
import { DEFAULT_MEMORY, type MemoryPlan, machineMemory, memoryPlan } from "../../core/config/memory-plan.ts";
import { DuckmirrorError, detailOf, hasSystemCode } from "../../core/errors.ts";
import { assertOwnFile, assertOwnFolder, createDurably, makeFolders } from "../../core/files/own-files.ts";
import { programFile, readProgram } from "../../core/program-files.ts";
import { unwritable } from "../../core/state/shared-file.ts";
import { flushToDisk, moveOver } from "../../core/system.ts";
import { type Database, openDatabase } from "../duckdb/database.ts";
import { lockError, openError } from "../duckdb/duck-errors.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { instant } from "../duckdb/statements.ts";
import type { TableStrictness } from "../record/normalize-record.ts";
import { assertOwnWorking, noteClosed } from "../user-sql/trusted-files.ts";
import type { ChecksSetting } from "./checks/run-checks.ts";
import { migrate } from "./migrate.ts";
import type { Keeping } from "./publish/keep-snapshots.ts";
import type { MirrorHome } from "./publish/publish.ts";
import { removeFreshFolders } from "./publish/rewrite-file.ts";
import { applyViews } from "./views.ts";

// The lock of a data directory's single writer, held from open to close, including while the working file is closed
// for publishing. The lock is an empty DuckDB database: the kernel releases its file lock when the process ends, so a
// killed process leaves no stale lock.

/** Locks of this process. DuckDB allows a second open in the same process, which loses rows. */
const held = new Set<string>();

export interface WriterLock {
  release(): Promise<void>;
}

/** Takes the lock. `dir`: the data directory, for the message. Throws WRITER_BUSY, DATA_DIR_UNWRITABLE, or DuckDB's error. */
export const takeWriterLock = async (file: string, dir: string): Promise<WriterLock> => {
  // DuckDB follows links in place of these, and waits for a pipe.
  for (const own of [file, `${file}.wal`]) assertOwnFile(own);
  const id = realpathSync(dirname(file));
  if (held.has(id)) throw new DuckmirrorError("WRITER_BUSY", { dir });
  held.add(id);
  let database: Database;
  try {
    database = await openDatabase(file, { threads: 1, memoryLimit: "32MB" });
  } catch (error) {
    held.delete(id);
    throw error;
  }
  return {
    release: async () => {
      await database.close();
      held.delete(id);
    },
  };
};

// Whether a data directory can be written, without writing to it: for checks before the first sync.

/** The nearest existing path: the folder itself, or one above it. */
const existing = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : existing(dirname(path));

const assertFolder = (path: string): void => {
  if (!statSync(path).isDirectory()) throw new Error(`${path} is no folder`);
  accessSync(path, constants.W_OK | constants.X_OK);
};

/** Throws DATA_DIR_UNWRITABLE. A folder that is missing must be possible to create. */
export const assertWritable = (dataDir: string): void => {
  const { state, archiveDir, working } = warehousePaths(dataDir);
  try {
    for (const dir of [state, archiveDir]) assertOwnFolder(dir);
    for (const dir of [dataDir, state, archiveDir]) assertFolder(existing(dir));
    if (existsSync(working)) accessSync(working, constants.R_OK | constants.W_OK);
  } catch (cause) {
    if (cause instanceof DuckmirrorError) throw cause;
    throw new DuckmirrorError("DATA_DIR_UNWRITABLE", { dir: dataDir, detail: detailOf(cause) }, { cause });
  }
};

// New working files. Creating every table, view and comment takes 0.2 s of processor time, so the build makes an empty
// mirror once, and a new file begins as its copy. Opening checks it like any other file: what it lacks is created then,
// and without the copy everything is. docs/decisions/publishing.md.

/** Creates an empty mirror, dated 1970, for the build. */
export const makeEmptyMirror = async (file: string): Promise<void> => {
  const database = await openDatabase(file, { threads: 1 });
  try {
    await migrate(database, 0);
    await applyViews(database, 0);
  } finally {
    await database.close();
  }
};

/** The empty mirror of the build. The sources have none. */
const emptyMirrorFile = (): string => fileURLToPath(programFile("empty-mirror.duckdb"));

/**
 * Puts a copy of the empty mirror at `file`, if nothing is there and the program has one. Returns whether it did. The
 * caller holds the writer's lock.
 */
export const copyEmptyMirror = async (file: string, empty: string = emptyMirrorFile()): Promise<boolean> => {
  if (existsSync(file) || existsSync(`${file}.wal`) || !existsSync(empty)) return false;
  const unfinished = `${file}.empty`;
  try {
    // A killed process left it, or somebody planted a link, which is not followed.
    await rm(unfinished, { force: true });
    // Flushed, because DuckDB flushes its WAL with the first rows, but not a file that it has not written.
    const bytes = readProgram(pathToFileURL(empty));
    await createDurably(unfinished, (copy) => copy.writeFile(bytes));
    await moveOver(unfinished, file);
    await flushToDisk(dirname(file));
    return true;
  } catch {
    // Whatever prevented the copy prevents creating the file as well, and opening it says so.
    await rm(unfinished, { force: true }).catch(() => undefined);
    return false;
  }
};

/** The tables of a copied file are as old as the mirror, not as the build. `now`: ms since the epoch. */
export const dateCopiedMirror = (database: Database, now: number): Promise<void> =>
  database.transaction(async (tx) => {
    await tx.run(sqlText("warehouse/date-migrations.sql"), [instant(now)]);
    await tx.run(sqlText("warehouse/date-views.sql"), [instant(now)]);
  });

export interface WarehouseOptions {
  readonly dataDir: string;
  readonly clock: Clock;
  /** DuckDB's memory limits; default: the default of the setting `memory` (memory-plan.ts). */
  readonly memory?: MemoryPlan;
  /** Days for which the audit trail is kept; null: for ever; default: nothing is removed. */
  readonly auditRetentionDays?: number | null;
  /** Which earlier snapshots a publish keeps; default: those that are kept already. */
  readonly keepSnapshots?: Keeping;
  /** Checks that a publish must pass; null: none; unset: it passes whatever they would say. */
  readonly checks?: ChecksSetting | null;
  /** The program's signal to end, which leaves checks a few seconds. */
  readonly stop?: AbortSignal;
  /** Unset: the state is in the data directory only. */
  readonly home?: MirrorHome | undefined;
  /** Strictness of each table; default: every table accepts every record. */
  readonly strictness?: TableStrictness;
}

/**
 * Smaller files are written with one thread. A second thread helps only where much is scanned; otherwise it polls,
 * which cost a sixth of the processor time of a first sync.
 */
const ONE_THREAD_BELOW_BYTES = 256 * 1024 * 1024;

const isSmall = async (file: string): Promise<boolean> => {
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  return size < ONE_THREAD_BELOW_BYTES;
};

export const memoryOf = ({ memory }: WarehouseOptions): MemoryPlan =>
  memory ?? memoryPlan(DEFAULT_MEMORY, machineMemory());

export const warehousePaths = (dataDir: string) => {
  const state = join(dataDir, "state");
  return {
    state,
    archiveDir: join(state, "archive"),
    snapshot: join(dataDir, "warehouse.duckdb"),
    working: join(state, "working.duckdb"),
    lockFile: join(state, "writer.lock"),
  };
};

/**
 * Narrows the rights to the owner's. What belongs to another user stays as it is: a volume that is shared by a group may be written
 * and not changed so.
 */
const keepToOwner = async (path: string, mode: number): Promise<void> => {
  try {
    await chmod(path, mode);
  } catch (error) {
    if (!hasSystemCode(error, "EPERM")) throw error;
  }
};

/** Creates directories that only their owner can open, because the mirror holds personal addresses. */
const makeDirs = async (dataDir: string, dirs: readonly string[]): Promise<void> => {
  try {
    for (const dir of dirs) {
      // The data directory itself may be a link, because the user named it.
      if (dir !== dataDir) assertOwnFolder(dir);
      const made = makeFolders(dir, 0o700);
      if (made !== undefined || dir !== dataDir) await keepToOwner(dir, 0o700);
    }
  } catch (error) {
    if (error instanceof DuckmirrorError) throw error;
    throw unwritable(dataDir, error);
  }
};

/** DuckDB follows links in place of these. Publishing replaces a link or file in the snapshot's place, but no folder. */
const refusePlanted = (dataDir: string): void => {
  const { state, working, snapshot } = warehousePaths(dataDir);
  assertOwnFolder(join(state, "tmp"));
  if (lstatSync(snapshot, { throwIfNoEntry: false })?.isDirectory()) {
    const detail = `${basename(snapshot)} is a folder; move it away`;
    throw new DuckmirrorError("DATA_DIR_UNWRITABLE", { dir: dataDir, detail });
  }
  for (const file of [working, `${working}.new`]) {
    assertOwnFile(file);
    assertOwnFile(`${file}.wal`);
  }
};

/**
 * Creates the directories, takes the writer's lock, and removes what killed writers left. Throws WRITER_BUSY or
 * DATA_DIR_UNWRITABLE.
 */
export const enterDataDir = async (dataDir: string): Promise<WriterLock> => {
  const { state, archiveDir, lockFile, working } = warehousePaths(dataDir);
  if (dataDir.includes("?")) throw new DuckmirrorError("DATA_DIR_NAME", { dir: dataDir });
  await makeDirs(dataDir, [dataDir, state, archiveDir]);
  refusePlanted(dataDir);
  const lock = await takeWriterLock(lockFile, dataDir).catch((error: unknown) => {
    throw lockError(error, lockFile, dataDir);
  });
  try {
    await keepToOwner(lockFile, 0o600);
    // Nobody else writes here now, so a killed process left these.
    await removeFreshFolders(working);
    await rm(join(state, "tmp"), { recursive: true, force: true });
    return lock;
  } catch (error) {
    await lock.release();
    throw openError(error, lockFile, dataDir);
  }
};

/** Enters the data directory, and takes the mirror from its home. Throws as both. */
export const enterMirror = async ({
  dataDir,
  home,
}: Pick<WarehouseOptions, "dataDir" | "home">): Promise<WriterLock> => {
  const lock = await enterDataDir(dataDir);
  try {
    await home?.enter();
    return lock;
  } catch (error) {
    await lock.release();
    throw error;
  }
};

/**
 * Opens a working file; creates and migrates it as needed. The lock must be held. Throws CATALOG_REFUSED, DuckDB's
 * error or a migration's.
 */
export const openWorking = async (file: string, options: WarehouseOptions): Promise<Database> => {
  const isCopy = await copyEmptyMirror(file);
  const hasOwnViews = isCopy || (await assertOwnWorking(file, { ...memoryOf(options), dataDir: options.dataDir }));
  const database = await openDatabase(file, {
    tempDir: join(options.dataDir, "state", "tmp"),
    ...((await isSmall(file)) ? { threads: 1 } : {}),
    memory: memoryOf(options),
  });
  try {
    await migrate(database, options.clock.now());
    await applyViews(database, options.clock.now(), !hasOwnViews);
    if (isCopy) await dateCopiedMirror(database, options.clock.now());
    await keepToOwner(file, 0o600);
    return {
      ...database,
      close: async (how) => {
        await database.close(how);
        await noteClosed(file);
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
};
