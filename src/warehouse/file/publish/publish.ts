// Publishes a snapshot: copies the closed working file and renames the copy into place, so that a reader sees the old or the new snapshot
// as a whole; a reader with the old one open keeps it. docs/decisions/publishing.md.

import { rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DuckmirrorError, detailOf } from "../../../core/errors.ts";
import { copyOwn, listOwn, openOwn } from "../../../core/files/own-files.ts";
import { flushToDisk, moveOver } from "../../../core/system.ts";
import { type Database, openDatabase } from "../../duckdb/database.ts";
import { statementError } from "../../duckdb/duck-errors.ts";
import { sqlText } from "../../duckdb/sql-files.ts";
import { instant } from "../../duckdb/statements.ts";
import { readApplied } from "../../journal/journal.ts";
import { noteOwn } from "../../user-sql/trusted-files.ts";
import { factsOf, type Keeping, keepPresent, notePublished } from "./keep-snapshots.ts";

export interface Published {
  readonly path: string;
  readonly bytes: number;
  readonly durationMs: number;
}

const temporaryName = (snapshot: string) => `.${basename(snapshot)}.new`;

/** Opens the copy as a reader would. Rejects a copy that is unreadable or stale. */
const proveCopy = async (copy: string, applied: number): Promise<void> => {
  const database = await openDatabase(copy, { readOnly: true, threads: 1 });
  try {
    const found = await readApplied(database);
    if (found !== applied) {
      throw new DuckmirrorError("UNEXPECTED", { detail: `${copy} holds ${found} changes instead of ${applied}` });
    }
  } finally {
    await database.close();
  }
};

const copyAside = async (working: string, temporary: string): Promise<void> => {
  // A clean close leaves no WAL. If one remains, a copy without it would lack commits.
  const wal = await stat(`${working}.wal`).catch(() => null);
  if (wal !== null && wal.size > 0) {
    throw new DuckmirrorError("UNEXPECTED", { detail: `${working}.wal was left after a clean close` });
  }
  // A file of that name was left by a crash, or planted; creating a new file follows no link.
  await rm(temporary, { force: true });
  await copyOwn(working, temporary);
  const copy = await openOwn(temporary);
  await copy.chmod(0o600).finally(() => copy.close());
};

/** Where a mirror's working state is kept besides the data directory (docs/decisions/homes.md). The caller holds the lock. */
export interface MirrorHome {
  /** Takes the mirror from the worker that had it, and brings its state here unless that is here. */
  enter(): Promise<void>;
  /** Keeps the state with this closed working file, or copy of it. Throws HOME_TAKEN: then nothing may be published. */
  keep(working: string): Promise<void>;
}

export interface PublishMeans {
  /** ms since the epoch. */
  readonly now: () => number;
  /** Which earlier snapshots stay; null: those that are kept already. */
  readonly keeping: Keeping | null;
  readonly home?: MirrorHome | undefined;
}

/**
 * Notes the time of publishing in the mirror itself, so that a copy of the snapshot keeps it. It is no entry of the journal: each
 * publish makes its own. Call it before a rewrite of the file, which it would make larger again. `now`: ms since the epoch.
 */
export const stampPublished = async (database: Database, now: number): Promise<void> => {
  await database.run(sqlText("warehouse/set-capability.sql"), ["published", "{}", instant(now)]);
};

/** Publishes the database's file as `snapshot`. Writers wait during the copy. */
export const publishSnapshot = async (
  database: Database,
  snapshot: string,
  { now, keeping, home }: PublishMeans,
): Promise<Published> => {
  const start = performance.now();
  await database.flushWal();
  const applied = await readApplied(database);
  const facts = await factsOf(database);
  const temporary = join(dirname(snapshot), temporaryName(snapshot));
  try {
    await database.offline(() => copyAside(database.file, temporary));
    const [proof, durable] = await Promise.allSettled([proveCopy(temporary, applied), flushToDisk(temporary)]);
    if (proof.status === "rejected") throw proof.reason;
    if (durable.status === "rejected") throw durable.reason;
    await home?.keep(temporary);
    if (keeping !== null) await keepPresent(snapshot, keeping);
    // A WAL beside the snapshot is not ours, and the next reader would apply it.
    await rm(`${snapshot}.wal`, { force: true, recursive: true });
    await moveOver(temporary, snapshot);
  } catch (error) {
    await rm(temporary, { force: true });
    throw statementError(error);
  }
  await flushToDisk(dirname(snapshot));
  await noteOwn(snapshot);
  const { size } = await stat(snapshot);
  await notePublished(snapshot, { facts, bytes: size, now: now() }, keeping);
  return { path: snapshot, bytes: size, durationMs: Math.round(performance.now() - start) };
};

export const removeLeftovers = async (snapshot: string): Promise<void> => {
  const dir = dirname(snapshot);
  for (const name of await listOwn(dir)) {
    if (name === temporaryName(snapshot)) {
      await rm(join(dir, name), { force: true }).catch((error: unknown) => {
        throw new DuckmirrorError("DATA_DIR_UNWRITABLE", { dir, detail: detailOf(error) }, { cause: error });
      });
    }
  }
};
