// Makes and reads the baseline: a verified copy of a snapshot from which `replay` starts, so that older content of the archive may be
// removed (docs/decisions/baseline-and-backup.md).

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { DuckmirrorError, isCode } from "../../../core/errors.ts";
import {
  assertOwnFile,
  copyOwn,
  listOwn,
  makeOwnFolder,
  readOwnIfThere,
  replaceFile,
  streamOwn,
} from "../../../core/files/own-files.ts";
import { changeShared, readShared, type SharedFile } from "../../../core/state/shared-file.ts";
import { flushToDisk, moveOver } from "../../../core/system.ts";
import { openDatabase } from "../../duckdb/database.ts";
import { statementError } from "../../duckdb/duck-errors.ts";
import { numberOf, sqlText, textsOf } from "../../duckdb/sql-files.ts";
import { readApplied } from "../../journal/journal.ts";
import { assertForeignCatalog } from "../../user-sql/trusted-files.ts";

// Whether everything that the mirror holds was stored under the present field rules. Otherwise only the archive can give
// a mirror without the values that the new rules keep out, so nothing of it may be removed.

const rulesSchema = z.object({
  v: z.literal(1),
  /** Rules under which the mirror's values were stored. */
  rules: z.array(z.string()),
  /** Some values were stored before one of the rules existed. */
  mixed: z.boolean(),
});
type StoredRules = z.output<typeof rulesSchema>;

const fileOf = (state: string): SharedFile<StoredRules | null> => ({
  path: join(state, "field-rules.json"),
  schema: rulesSchema,
  holds: "list of field rules",
  without: "the next sync notes the present rules, and takes all stored values for older",
  empty: null,
});

/** Notes the rules of a sync. `isNew`: the mirror holds nothing yet. Returns whether values of before are left. */
export const noteRules = async (state: string, rules: readonly string[], isNew: boolean): Promise<boolean> => {
  const known = await readShared(fileOf(state));
  const before = known?.rules ?? (isNew ? rules : []);
  const mixed = known?.mixed === true || rules.some((rule) => !before.includes(rule));
  if (known !== null && known.mixed === mixed && String(known.rules) === String(rules)) return mixed;
  await changeShared(fileOf(state), () => ({ v: 1 as const, rules: [...rules], mixed }));
  return mixed;
};

/** The mirror was rebuilt from the whole archive: all its values are stored under these rules. */
export const settleRules = async (state: string, rules: readonly string[]): Promise<void> => {
  await changeShared(fileOf(state), () => ({ v: 1 as const, rules: [...rules], mixed: false }));
};

/** True when the mirror holds values stored before one of `rules` existed. */
export const holdsOlderValues = async (state: string, rules: readonly string[]): Promise<boolean> => {
  const known = await readShared(fileOf(state));
  return known?.mixed === true || rules.some((rule) => !(known?.rules ?? []).includes(rule));
};

// A data directory whose `state/` is gone: the mirror goes on from its snapshot, as after a restore. A new mirror would be
// published over the snapshot, and every row paid for again.

interface Paths {
  readonly state: string;
  readonly archiveDir: string;
  readonly snapshot: string;
  readonly working: string;
}

/** Throws CATALOG_REFUSED. */
const isWhole = async (snapshot: string): Promise<boolean> => {
  try {
    await assertForeignCatalog(snapshot);
    await readThrough(snapshot);
    return true;
  } catch (error) {
    if (isCode(error, "CATALOG_REFUSED")) throw error;
    return false;
  }
};

/**
 * Makes the snapshot the working file, if there is none, and nothing that `replay` could build it from. Returns whether it
 * did. A snapshot that cannot be read has nothing to go on from. The caller holds the writer's lock. Throws CATALOG_REFUSED, DISK_FULL.
 */
export const adoptSnapshot = async ({ state, archiveDir, snapshot, working }: Paths, now: number): Promise<boolean> => {
  if (existsSync(working) || existsSync(`${working}.wal`) || !existsSync(snapshot)) return false;
  if ((await listOwn(archiveDir)).length > 0 || !(await isWhole(snapshot))) return false;
  // First, so that the working file is never without what it came from.
  await makeBaseline(state, snapshot, now);
  const fresh = `${working}.new`;
  await rm(fresh, { force: true });
  await copyDurably(snapshot, fresh);
  await moveOver(fresh, working);
  return true;
};

const baselineSchema = z.object({
  v: z.literal(1),
  /** Name of the copy beside this file. */
  file: z.string().regex(/^[\w.-]+\.duckdb$/),
  /** Number of the last change of the journal that it holds. */
  applied: z.int().nonnegative(),
  /** ms since the epoch. */
  made_at: z.number(),
  bytes: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

export interface Baseline extends z.output<typeof baselineSchema> {
  readonly path: string;
}

const NOTE = "baseline.json";

export const baselineDir = (state: string): string => join(state, "baseline");

export const digestOf = async (path: string): Promise<string> => {
  const hash = createHash("sha256");
  await pipeline(await streamOwn(path, { highWaterMark: 1024 * 1024 }), hash);
  return hash.digest("hex");
};

const damaged = (path: string, detail: string) => new DuckmirrorError("BASELINE_DAMAGED", { file: path, detail });

/** The baseline of a data directory; null: there is none. Throws BASELINE_DAMAGED when its note cannot be read. */
export const readBaseline = async (state: string): Promise<Baseline | null> => {
  const note = join(baselineDir(state), NOTE);
  const text = await readOwnIfThere(note);
  if (text === null) return null;
  try {
    const parsed = baselineSchema.parse(JSON.parse(text));
    return { ...parsed, path: join(baselineDir(state), parsed.file) };
  } catch {
    throw damaged(note, "it is no note that this version reads");
  }
};

/** Throws BASELINE_DAMAGED unless the copy is the one that was proven. */
export const proveBaseline = async ({ path, bytes, sha256 }: Baseline): Promise<void> => {
  assertOwnFile(path);
  const found = await stat(path).catch(() => null);
  if (found === null) throw damaged(path, "it is missing");
  if (found.size !== bytes) throw damaged(path, `it has ${found.size} of ${bytes} bytes`);
  if ((await digestOf(path)) !== sha256) throw damaged(path, "its checksum differs");
};

/** Copies a database file that nobody writes to, and makes the copy durable. `to` must not exist. */
export const copyDurably = async (from: string, to: string): Promise<void> => {
  await copyOwn(from, to);
  await chmod(to, 0o600);
  await flushToDisk(to);
};

/**
 * Reads every value of a closed file, so that DuckDB compares each block with its checksum. Returns the number of the
 * last change. Throws WAREHOUSE_CORRUPT.
 */
export const readThrough = async (file: string): Promise<number> => {
  const database = await openDatabase(file, { readOnly: true, threads: 1, memoryLimit: "512MB" });
  try {
    for (const path of await textsOf(database, sqlText("warehouse/own-tables.sql")))
      await numberOf(database, `SELECT count(hash(t)) FROM ${path} AS t`);
    return await readApplied(database);
  } finally {
    await database.close();
  }
};

/** Removes the copies that `kept` does not name, and those of killed processes. */
const removeOthers = async (folder: string, kept: string): Promise<void> => {
  for (const name of await listOwn(folder)) {
    if (name !== kept && name !== NOTE) await rm(join(folder, name), { force: true, recursive: true });
  }
};

/**
 * Makes the snapshot the baseline: copies it, compares the checksums, notes it, and removes the one before. After a
 * crash, the one or the other is noted. `now`: ms since the epoch. Throws DISK_FULL.
 */
export const makeBaseline = async (state: string, snapshot: string, now: number): Promise<Baseline> => {
  const folder = baselineDir(state);
  makeOwnFolder(folder);
  const applied = await readThrough(snapshot);
  const file = `${String(applied).padStart(12, "0")}-${now}.duckdb`;
  const path = join(folder, file);
  const fresh = `${path}.new`;
  try {
    await rm(fresh, { force: true });
    await copyDurably(snapshot, fresh);
    const [sha256, wanted] = [await digestOf(fresh), await digestOf(snapshot)];
    if (sha256 !== wanted) throw damaged(fresh, "the copy differs from the snapshot");
    await moveOver(fresh, path);
    const { size: bytes } = await stat(path);
    const note = { v: 1 as const, file, applied, made_at: now, bytes, sha256 };
    await replaceFile(join(folder, NOTE), `${JSON.stringify(note, null, 1)}\n`);
    await removeOthers(folder, file);
    return { ...note, path };
  } catch (error) {
    await rm(fresh, { force: true });
    throw error instanceof DuckmirrorError ? error : statementError(error);
  }
};
