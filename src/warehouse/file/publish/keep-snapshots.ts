// Keeps earlier snapshots as the setting `keep_snapshots` says. The present file gets a second name before a publish
// replaces it, so that keeping it copies nothing.
import { link, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { copyOwn, listOwn, makeOwnFolder } from "../../../core/files/own-files.ts";
import { writeNote } from "../../../core/state/shared-file.ts";
import { flushToDisk } from "../../../core/system.ts";
import type { Database } from "../../duckdb/database.ts";
import { sqlText } from "../../duckdb/sql-files.ts";
import {
  indexFile,
  keptFile,
  keptFolder,
  readIndex,
  type SnapshotIndex,
  type SnapshotNote,
} from "../../read/kept-snapshots.ts";
import { fileVersion } from "../../read/looks.ts";

/** Snapshots to keep, the present one included. */
export interface Keeping {
  readonly count: number;
  /** Most age of an earlier one, ms; null: any. */
  readonly ageMs: number | null;
}

const factsRow = z.object({ position: z.number(), complete: z.boolean() });
export type SnapshotFacts = z.output<typeof factsRow>;

export const factsOf = async (database: Database): Promise<SnapshotFacts> =>
  (await database.query(sqlText("warehouse/snapshot-facts.sql"), [], factsRow))[0] ?? { position: 0, complete: false };

/** Gives the present snapshot its second name, unless none is kept. Call it before another one replaces the file. */
export const keepPresent = async (snapshot: string, keeping: Keeping): Promise<void> => {
  const version = fileVersion(snapshot);
  const present = (await readIndex(snapshot)).snapshots.find(({ file }) => file === version);
  if (keeping.count < 2 || present === undefined) return;
  const kept = keptFile(snapshot, present.n);
  await rm(kept, { force: true });
  await link(snapshot, kept).catch(() => copyOwn(snapshot, kept));
  await flushToDisk(keptFolder(snapshot));
};

/** Those that stay: the newest, and as many of the earlier ones as `keeping` allows; null: all. PURE. */
export const staying = <T extends Pick<SnapshotNote, "at">>(
  snapshots: readonly T[],
  keeping: Keeping | null,
  now: number,
): readonly T[] => {
  if (keeping === null) return snapshots;
  const { count, ageMs } = keeping;
  // Readers could see a snapshot until the next one came.
  return snapshots.slice(-count).filter((_, at, some) => {
    const next = some[at + 1];
    return next === undefined || ageMs === null || next.at >= now - ageMs;
  });
};

const writeIndex = async (snapshot: string, index: SnapshotIndex): Promise<void> => {
  await writeNote(indexFile(snapshot), index);
  const files = new Set(index.snapshots.map(({ n }) => `${n}.duckdb`));
  const folder = keptFolder(snapshot);
  for (const name of await listOwn(folder)) {
    if (name.endsWith(".duckdb") && !files.has(name)) await rm(join(folder, name), { force: true });
  }
};

/** Notes the snapshot that was just published, and removes those that do not stay. `now`: ms since the epoch. */
export const notePublished = async (
  snapshot: string,
  { facts, bytes, now }: { readonly facts: SnapshotFacts; readonly bytes: number; readonly now: number },
  keeping: Keeping | null,
): Promise<void> => {
  makeOwnFolder(keptFolder(snapshot));
  const { last, snapshots } = await readIndex(snapshot);
  const fresh = { n: last + 1, at: now, bytes, file: fileVersion(snapshot) ?? "", ...facts };
  const there = snapshots.filter(({ n }) => fileVersion(keptFile(snapshot, n)) !== null);
  await writeIndex(snapshot, { v: 1, last: last + 1, snapshots: [...staying([...there, fresh], keeping, now)] });
};

export const removeKept = async (snapshot: string, paths: readonly string[]): Promise<void> => {
  const index = await readIndex(snapshot);
  const left = index.snapshots.filter(({ n }) => !paths.includes(keptFile(snapshot, n)));
  await writeIndex(snapshot, { ...index, snapshots: left });
};
