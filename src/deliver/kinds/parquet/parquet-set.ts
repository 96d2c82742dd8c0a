// Files beside the parts of a `parquet` destination: `_manifest.json`, which names the parts of the present delivery; one text file per
// table with the addresses of its parts, for engines that cannot read the manifest (Athena, Spark, Hive, BigQuery, Trino, ddl/); and the
// removal of parts that no manifest names.
// The text files follow the manifest. `_symlink/_delivery` names the delivery that they show; it is removed before a file is written and
// put back after the last, so that the next delivery finishes what a killed one left.

import { z } from "zod";
import { timeMs } from "../../../core/time.ts";
import { entrySchema, MANIFEST_NAME, type ManifestEntry } from "../../../warehouse/export/manifest.ts";
import { type ObjectStore, type ReadList, readList } from "../../stores/object-store.ts";

// `_manifest.json` of a delivered set: the parts that belong together, and how far the set has come. It is written last, and
// only if nobody else wrote it since it was read.

const setSchema = z.object({
  version: z.literal(1),
  format: z.literal("parquet"),
  /** Id of the delivery that wrote this manifest. */
  delivery: z.string(),
  delivered: z.object({ mirror: z.string(), n: z.number(), mark: z.string() }),
  /** Last run of the mirror in this set. */
  run: z.string().nullable(),
  /** Every table of the set, including those without a part. */
  tables: z.array(z.string()),
  /** `file` is the key of a part relative to the manifest, never used again for other rows. */
  files: z.array(entrySchema),
  /** Parts that no longer belong to the set, and since when (ISO 8601); removed after a grace period. */
  retired: z.array(z.object({ file: z.string(), since: z.string() })),
  /** When the store was last searched for parts of deliveries that did not end (ISO 8601). */
  swept: z.string(),
});

export type SetEntry = ManifestEntry;
export type SetManifest = z.output<typeof setSchema>;

/** null: the store holds no set yet. Throws DESTINATION_FAILED where it holds something else. */
export const readSet = (store: ObjectStore, signal: AbortSignal): Promise<ReadList<SetManifest> | null> =>
  readList(store, MANIFEST_NAME, setSchema, signal);

// Parts that belong to no set: those of earlier sets go after a grace period, so that readers of the earlier manifest can
// finish; those of deliveries that did not end go after a day.

const DAY_MS = 86_400_000;
type Retired = SetManifest["retired"][number];

/** Name of a part: `2025-01-<sha256>-<delivery>.parquet`, below its table's folder. */
export const partKey = (
  part: { readonly table: string; readonly partition: string | null; readonly sha256: string },
  delivery: string,
): string => `${part.table}/${part.partition ?? "all"}-${part.sha256.slice(0, 16)}-${delivery.slice(0, 8)}.parquet`;

/** What only deliveries write; nothing else is removed. */
const OURS = [
  /^[a-z_]+\/[0-9a-z-]+-[0-9a-f]{16}-[0-9a-f]{8}\.parquet$/,
  // An unfinished file of a folder.
  /^([a-z_]+\/)*\.[0-9a-f-]{36}\.new$/,
  /^_conditions-[0-9a-f-]{36}$/,
];

const isDue = (since: string, graceMs: number, now: number): boolean => (timeMs(since) ?? 0) + graceMs <= now;

/** Earlier parts by whether their grace period is over. */
export const sortRetired = (retired: readonly Retired[], graceMs: number, now: number) => ({
  due: retired.filter(({ since }) => isDue(since, graceMs, now)),
  kept: retired.filter(({ since }) => !isDue(since, graceMs, now)),
});

/** True where the store was not searched for a day. */
export const isSweepDue = (swept: string, now: number): boolean => isDue(swept, DAY_MS, now);

/**
 * Removes parts of deliveries that did not end. Another delivery may be under way and has not named its parts yet, so
 * only parts older than a day go. `named`: keys that a manifest names.
 */
export const sweep = async (
  store: Pick<ObjectStore, "list" | "delete">,
  named: ReadonlySet<string>,
  options: { readonly graceMs: number; readonly now: number },
  signal: AbortSignal,
): Promise<number> => {
  const before = options.now - Math.max(DAY_MS, options.graceMs);
  const found: string[] = [];
  for await (const { key, modifiedAt } of store.list(signal)) {
    if (key === MANIFEST_NAME || key.startsWith(`${LISTS_FOLDER}/`) || named.has(key)) continue;
    if (modifiedAt < before && OURS.some((pattern) => pattern.test(key))) found.push(key);
  }
  await store.delete(found, signal);
  return found.length;
};

export const LISTS_FOLDER = "_symlink";
const MARK = `${LISTS_FOLDER}/_delivery`;
/** Deliveries of other mirrors that may come between before a delivery gives up; the next one writes the lists. */
const MOST_ROUNDS = 3;

/** Key of a table's list. Engines take its folder as the table's place. */
export const listKey = (table: string): string => `${LISTS_FOLDER}/${table}/manifest`;

const listOf = (store: ObjectStore, manifest: SetManifest, table: string): string =>
  manifest.files
    .filter((entry) => entry.table === table)
    .map(({ file }) => `${store.address(file) ?? file}\n`)
    .join("");

const changedTables = (before: SetManifest | null, after: SetManifest, store: ObjectStore): readonly string[] =>
  after.tables.filter(
    (table) =>
      before === null || !before.tables.includes(table) || listOf(store, before, table) !== listOf(store, after, table),
  );

/** Writes the lists of what the store holds now, if they show something else. `before`: the manifest before this delivery. */
export const updateLists = async (
  store: ObjectStore,
  before: SetManifest | null,
  after: SetManifest,
  signal: AbortSignal,
): Promise<void> => {
  if (store.address("") === null) return;
  const shown = (await store.get(MARK, signal))?.text;
  if (shown === after.delivery) return;
  let known = shown === before?.delivery ? before : null;
  let wanted = after;
  for (let round = 1; round <= MOST_ROUNDS; round += 1) {
    await store.delete([MARK], signal);
    for (const table of changedTables(known, wanted, store)) {
      await store.put(listKey(table), listOf(store, wanted, table), null, signal);
    }
    const found = await readSet(store, signal);
    if (found === null) return;
    if (found.list.delivery === wanted.delivery) {
      await store.put(MARK, wanted.delivery, null, signal);
      return;
    }
    // Another delivery came after this one: its lists may have been overwritten here.
    known = null;
    wanted = found.list;
  }
};
