// A delivered set in a folder, to compare with the snapshot.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Delivered } from "../../../../../src/deliver/destination.ts";
import { parquetDestination } from "../../../../../src/deliver/kinds/parquet/parquet-destination.ts";
import { readSet, type SetManifest } from "../../../../../src/deliver/kinds/parquet/parquet-set.ts";
import type { Recipient } from "../../../../../src/deliver/source.ts";
import { folderStore } from "../../../../../src/deliver/stores/folder-store.ts";
import type { ObjectStore } from "../../../../../src/deliver/stores/object-store.ts";
import { sha256 } from "../../../warehouse/export-set.ts";
import { parquetRows, snapshotRows, withSource } from "../../moving-mirror.ts";

const HOUR_MS = 3_600_000;

export interface DeliverOptions {
  readonly store?: ObjectStore;
  /** ms since the epoch. */
  readonly now?: number;
  readonly recipient?: Partial<Recipient>;
  readonly signal?: AbortSignal;
}

/** Delivers the signals of the mirror in `dataDir` to the folder `dir`; with `recipient`, other tables. */
export const deliver = (dataDir: string, dir: string, options: DeliverOptions = {}): Promise<Delivered> => {
  const {
    store = folderStore("files", dir),
    now = Date.now(),
    recipient = {},
    signal = new AbortController().signal,
  } = options;
  const destination = parquetDestination(store, { keepOldPartsMs: 24 * HOUR_MS, clock: { now: () => now } });
  return withSource(dataDir, (source) => destination.deliver(source, signal), { tables: ["signals"], ...recipient });
};

export const manifestOf = async (dir: string): Promise<SetManifest> => {
  const found = await readSet(folderStore("files", dir), new AbortController().signal);
  if (found === null) throw new Error(`${dir} holds no set`);
  return found.list;
};

/** Parquet files in the folder, named by the manifest or not. */
export const filesIn = (dir: string): readonly string[] =>
  readdirSync(dir, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".parquet"))
    .sort();

/** Fails unless the parts that the manifest names are whole and hold the snapshot's rows of these tables. */
export const expectSnapshot = async (
  dataDir: string,
  dir: string,
  wanted: readonly string[] = ["signals"],
): Promise<void> => {
  const { files, tables } = await manifestOf(dir);
  expect(tables).toEqual(wanted);
  for (const { file, bytes, sha256: sum } of files) {
    expect({ file, bytes, sum }).toEqual({ file, bytes: statSync(join(dir, file)).size, sum: sha256(join(dir, file)) });
  }
  for (const table of wanted) {
    const named = files.filter((entry) => entry.table === table).map(({ file }) => join(dir, file));
    expect({ table, rows: await parquetRows(named) }).toEqual({ table, rows: await snapshotRows(dataDir, table) });
  }
};

/** What a folder holds: every file and its text or size, to see that nothing changed. */
export const contentOf = (dir: string): readonly (readonly [string, string])[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith(".lock"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => [path, `${statSync(path).ino} ${readFileSync(path).length}`] as const);
