// `Destination` of kind `parquet`: delivers the export's parts to a folder or to object storage, as a set that changes as a whole
// (parquet-set.ts). Parts have names of their own and are never changed, so that a reader of a manifest reads what it names, also while the
// next set is delivered.
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../../core/clock.ts";
import type { SettingsOf } from "../../../core/config/destinations/destination-settings.ts";
import type { MemoryPlan } from "../../../core/config/memory-plan.ts";
import type { Database } from "../../../warehouse/duckdb/database.ts";
import { statementError } from "../../../warehouse/duckdb/duck-errors.ts";
import { MANIFEST_NAME, type Part, partsOf } from "../../../warehouse/export/manifest.ts";
import { exportTables } from "../../../warehouse/export/tables.ts";
import { eachPart, lastRun, openForParts, WHOLE_PARQUET, writePart } from "../../../warehouse/export/write-parts.ts";
import type { Delivered, DeliveredRows, DeliverySource, Destination, DestinationContext } from "../../destination.ts";
import { assertConditional, commitList, type ObjectStore } from "../../stores/object-store.ts";
import { storeOf } from "../../stores/open-store.ts";
import {
  isSweepDue,
  partKey,
  readSet,
  type SetEntry,
  type SetManifest,
  sortRetired,
  sweep,
  updateLists,
} from "./parquet-set.ts";

// Opens a destination of kind parquet from its settings.

/** Sends nothing yet. Throws CONFIG_INVALID, DESTINATION_PACKAGE_MISSING. */
export const openParquet = async (
  settings: SettingsOf<"parquet">,
  { memory, azure, clock }: DestinationContext,
): Promise<Destination> => {
  const store = await storeOf(settings, azure);
  return parquetDestination(store, { keepOldPartsMs: settings.keep_old_parts, memory, clock });
};

export interface ParquetOptions {
  /** How long parts stay after their set was replaced, ms. */
  readonly keepOldPartsMs: number;
  readonly memory?: MemoryPlan | undefined;
  readonly clock: Pick<Clock, "now">;
}

/** Parts of the snapshot, as entries of the next manifest. */
interface Brought {
  readonly tables: readonly string[];
  readonly files: readonly SetEntry[];
  readonly fresh: readonly SetEntry[];
  readonly run: string | null;
}

/** The set's entry that holds these rows already. */
const kept = (before: SetManifest | null, part: Part): SetEntry | undefined =>
  before?.files.find(
    ({ table, partition, fingerprint }) =>
      table === part.table.label && partition === part.partition && fingerprint === part.fingerprint,
  );

const sum = (entries: readonly SetEntry[], of: "rows" | "bytes"): number =>
  entries.reduce((all, entry) => all + entry[of], 0);

/** Tables of which parts were written or dropped. */
const changesOf = (before: SetManifest | null, { tables, files, fresh }: Brought): readonly DeliveredRows[] =>
  tables.flatMap((table): DeliveredRows[] => {
    const isOf = (entry: SetEntry) => entry.table === table;
    const written = fresh.filter(isOf);
    const after = files.filter(isOf);
    const dropped = before?.files.filter((entry) => isOf(entry) && !after.includes(entry)) ?? [];
    if (written.length === 0 && dropped.length === 0) return [];
    const extent = written.length === after.length ? "whole" : "changes";
    return [{ table, extent, written: sum(written, "rows"), deleted: 0 }];
  });

/** Runs `work` in a folder for unfinished parts. */
const inStaging = async <T>(source: DeliverySource, work: (partsDir: string) => Promise<T>): Promise<T> => {
  const partsDir = await mkdtemp(join(dirname(source.snapshot), "parts-"));
  try {
    return await work(partsDir);
  } catch (error) {
    throw statementError(error);
  } finally {
    await rm(partsDir, { recursive: true, force: true });
  }
};

/** Writes and uploads the parts that `held` does not name. */
const bringParts = async (
  database: Database,
  names: readonly string[],
  context: { held: SetManifest | null; store: ObjectStore; partsDir: string; delivery: string; signal: AbortSignal },
): Promise<Brought> => {
  const { held, store, partsDir, delivery, signal } = context;
  const tables = exportTables(names, []);
  const run = await lastRun(database);
  const parts: Part[] = [];
  for (const table of tables) parts.push(...(await partsOf(database, table, WHOLE_PARQUET, null)));
  const entries = new Map<Part, SetEntry>();
  for (const part of parts) {
    const old = kept(held, part);
    if (old !== undefined) entries.set(part, old);
  }
  const changed = parts.filter((part) => !entries.has(part));
  await eachPart(database, changed, async (part, index) => {
    signal.throwIfAborted();
    const path = join(partsDir, `${index}.part`);
    const { bytes, sha256 } = await writePart(database, part, path, WHOLE_PARQUET, 0o600);
    const { partition, rows, fingerprint } = part;
    const table = part.table.label;
    const file = partKey({ table, partition, sha256 }, delivery);
    await store.upload(file, { path, bytes, sha256 }, signal);
    await rm(path);
    entries.set(part, { file, table, partition, rows, bytes, sha256, run, fingerprint });
  });
  return {
    tables: tables.map(({ label }) => label),
    files: parts.flatMap((part) => entries.get(part) ?? []),
    fresh: changed.flatMap((part) => entries.get(part) ?? []),
    run,
  };
};

/** The manifest that follows; null: nothing is different. `due`: parts that are removed before it is written. */
const nextSet = (
  before: SetManifest | null,
  brought: Brought,
  source: DeliverySource,
  graceMs: number,
  now: number,
) => {
  const { tables, files, run } = brought;
  const since = new Date(now).toISOString();
  const { due, kept: waiting } = sortRetired(before?.retired ?? [], graceMs, now);
  const dropped = before?.files.filter(({ file }) => !files.some((entry) => entry.file === file)) ?? [];
  const isSweep = before !== null && isSweepDue(before.swept, now);
  const shown = {
    delivered: { ...source.position },
    run,
    tables: [...tables],
    files: [...files],
    retired: [...waiting, ...dropped.map(({ file }) => ({ file, since }))],
  };
  const isSame = before !== null && !isSweep && JSON.stringify({ ...before, ...shown }) === JSON.stringify(before);
  const swept = before === null || isSweep ? since : before.swept;
  return { due: due.map(({ file }) => file), isSweep, set: isSame ? null : { ...shown, swept } };
};

/** Brings the set at `store` to a snapshot. */
const deliverSet = async (
  store: ObjectStore,
  options: ParquetOptions,
  source: DeliverySource,
  signal: AbortSignal,
): Promise<Delivered> => {
  const read = await readSet(store, signal);
  const before = read?.list ?? null;
  // Refuses a set of another mirror, and a set that is ahead.
  const names = (await source.tablesSince(before?.delivered ?? null)).map(({ name }) => name);
  if (before === null) await assertConditional(store, signal);
  const delivery = randomUUID();
  const brought = await inStaging(source, async (partsDir) => {
    const database = await openForParts(source.snapshot, partsDir, { spill: "spill", memory: options.memory });
    try {
      // Parts of a set that is taken over may be gone.
      const held = source.takeOver ? null : before;
      return await bringParts(database, names, { held, store, partsDir, delivery, signal });
    } finally {
      await database.close();
    }
  });
  const now = options.clock.now();
  const graceMs = options.keepOldPartsMs;
  const { due, isSweep, set } = nextSet(before, brought, source, graceMs, now);
  let after = before;
  if (set !== null) {
    await store.delete(due, signal);
    if (isSweep) {
      const named = [...set.files, ...set.retired, ...(before?.files ?? [])].map(({ file }) => file);
      await sweep(store, new Set(named), { graceMs, now }, signal);
    }
    after = { version: 1, format: "parquet", delivery, ...set };
    await commitList(store, MANIFEST_NAME, after, read, signal);
  }
  if (after !== null) await updateLists(store, before, after, signal);
  const changes = changesOf(before, brought);
  return {
    from: before?.delivered ?? null,
    to: source.position,
    tables: changes,
    leftOut: [],
    bytes: sum(brought.fresh, "bytes"),
  };
};

/** Opens nothing yet. The store is closed with the destination. */
export const parquetDestination = (store: ObjectStore, options: ParquetOptions): Destination => ({
  // No request takes longer than the store allows.
  position: async () => (await readSet(store, new AbortController().signal))?.list.delivered ?? null,
  deliver: (source, signal) => deliverSet(store, options, source, signal),
  close: async () => store.close(),
});
