// For engines that cannot read the manifest: one text file per table with the addresses of its parts, one a line. Athena,
// Spark and Hive read it as a symlink table, BigQuery as a manifest, Trino joins it (ddl/).
// The lists follow the manifest. `_symlink/_delivery` names the delivery that they show; it is removed before a list is
// written and put back after the last, so that the next delivery finishes what a killed one left.
import type { ObjectStore } from "../../stores/object-store.ts";
import { readSet, type SetManifest } from "./set-manifest.ts";

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
    if (found.manifest.delivery === wanted.delivery) {
      await store.put(MARK, wanted.delivery, null, signal);
      return;
    }
    // Another delivery came after this one: its lists may have been overwritten here.
    known = null;
    wanted = found.manifest;
  }
};
