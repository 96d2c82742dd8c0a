// Kind `snapshot`: published snapshots in a folder or in object storage, at the addresses that the server has for them, so
// that DuckDB attaches them there (docs/DESTINATIONS.md):
//   snapshots.json               the list, and how far the destination has come; replaced on condition
//   snapshots/<n>/warehouse.duckdb   a snapshot; its bytes never change while the list has it
//   snapshots/<n>/taken              the delivery that uses the number
//   now/warehouse.duckdb         the newest
//   now/snapshot.json            its entry of the list; says null while it is written
import { randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import type { SettingsOf } from "../../../core/config/destinations/destination-settings.ts";
import type { MemoryPlan } from "../../../core/config/memory-plan.ts";
import { DuckmirrorError, isCode } from "../../../core/errors.ts";
import { jsonOrNull } from "../../../core/json.ts";
import { isoTime, timeMs } from "../../../core/time.ts";
import { openForParts } from "../../../warehouse/export/write-parts.ts";
import { digestOf } from "../../../warehouse/file/baseline/baseline.ts";
import { factsOf, type Keeping, type SnapshotFacts, staying } from "../../../warehouse/file/publish/keep-snapshots.ts";
import {
  type Delivered,
  type DeliverySource,
  type Destination,
  type DestinationContext,
  isUpToDate,
} from "../../destination.ts";
import {
  assertConditional,
  commitList,
  type LocalFile,
  type ObjectStore,
  type ReadList,
  readList,
  replaceText,
} from "../../stores/object-store.ts";
import { storeOf } from "../../stores/open-store.ts";

const LIST = "snapshots.json";
const NOW = "now/warehouse.duckdb";
const NOW_NOTE = "now/snapshot.json";
const OF_NUMBER = /^snapshots\/([1-9]\d*)\/(?:warehouse\.duckdb|taken|\.[0-9a-f-]{36}\.new)$/;

const fileKey = (n: number): string => `snapshots/${n}/warehouse.duckdb`;
const takenKey = (n: number): string => `snapshots/${n}/taken`;

const entrySchema = z.object({
  n: z.int().positive(),
  /** When it was published, ISO 8601. */
  at: z.string(),
  position: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  complete: z.boolean(),
  /** DeliverySource.erasures of then. */
  erasures: z.string(),
});
type Entry = z.output<typeof entrySchema>;

const listSchema = z.object({
  v: z.literal(1),
  /** Id of the delivery that wrote it. */
  delivery: z.string(),
  delivered: z.object({ mirror: z.string(), n: z.number(), mark: z.string() }),
  /** The newest first; never empty. */
  data: z.array(entrySchema).min(1),
});

type SnapshotList = z.output<typeof listSchema>;

/** null: the store holds no snapshots yet. Throws DESTINATION_FAILED. */
const readSnapshots = (store: ObjectStore, signal: AbortSignal) => readList(store, LIST, listSchema, signal);

/** A number that no other delivery has. */
const takeNumber = async (store: ObjectStore, above: number, delivery: string, signal: AbortSignal) => {
  for (let n = above + 1; ; n++) {
    if (await replaceText(store, takenKey(n), delivery, null, signal)) return n;
  }
};

/** The list with a new snapshot: those that `keeping` lets stay, without any that may hold an erased person. PURE. */
export const nextEntries = (
  before: readonly Entry[],
  fresh: Entry,
  keeping: Keeping,
  now: number,
): readonly Entry[] => {
  const oldest = [...before, fresh]
    .filter(({ erasures }) => erasures === fresh.erasures)
    .sort((a, b) => a.n - b.n)
    .map((entry) => ({ ...entry, at: timeMs(entry.at) ?? 0 }));
  return staying(oldest, keeping, now)
    .toReversed()
    .map((entry) => ({ ...entry, at: isoTime(entry.at) }));
};

/** Removes every file of a number up to `last` that is not listed: a delivery with a lower one can no longer commit it. */
const removeUnlisted = async (
  store: ObjectStore,
  { list }: Pick<ReadList<SnapshotList>, "list">,
  signal: AbortSignal,
) => {
  const listed = new Set(list.data.map(({ n }) => n));
  const last = list.data[0]?.n ?? 0;
  const gone: string[] = [];
  for await (const { key } of store.list(signal)) {
    const n = Number(OF_NUMBER.exec(key)?.[1] ?? Number.NaN);
    if (n <= last && !listed.has(n)) gone.push(key);
  }
  await store.delete(gone, signal);
};

/**
 * Brings the newest snapshot to its lasting address, unless it is there. Returns bytes sent. Throws DESTINATION_OVERTAKEN where it may
 * have put an older one in place of a newer one; the next delivery corrects that.
 */
const bringNow = async (store: ObjectStore, entry: Entry, file: () => Promise<LocalFile>, signal: AbortSignal) => {
  const shown = jsonOrNull((await store.get(NOW_NOTE, signal))?.text ?? "");
  if (entrySchema.safeParse(shown).data?.n === entry.n) return 0;
  const local = await file();
  await store.put(NOW_NOTE, "null\n", null, signal);
  await store.upload(NOW, local, signal);
  await store.put(NOW_NOTE, `${JSON.stringify(entry)}\n`, null, signal);
  const newest = (await readSnapshots(store, signal))?.list.data[0]?.n;
  if (newest !== entry.n) throw new DuckmirrorError("DESTINATION_OVERTAKEN", { name: store.name });
  return local.bytes;
};

const readFacts = async (source: DeliverySource, memory: MemoryPlan | undefined): Promise<SnapshotFacts> => {
  const database = await openForParts(source.snapshot, dirname(source.snapshot), { spill: "spill", memory });
  try {
    return await factsOf(database);
  } finally {
    await database.close();
  }
};

/** Adds the snapshot to those at the destination; returns the list. */
const addSnapshot = async (
  store: ObjectStore,
  before: ReadList<SnapshotList> | null,
  { source, file, ...options }: SnapshotOptions & { readonly source: DeliverySource; readonly file: LocalFile },
  signal: AbortSignal,
): Promise<SnapshotList> => {
  if (before === null) await assertConditional(store, signal);
  const entries = before?.list.data ?? [];
  const delivery = randomUUID();
  const n = await takeNumber(store, entries[0]?.n ?? 0, delivery, signal);
  await store.upload(fileKey(n), file, signal);
  const { bytes } = file;
  const { erasures } = source;
  const fresh = { n, at: isoTime(source.publishedAt), bytes, erasures, ...(await readFacts(source, options.memory)) };
  const data = [...nextEntries(entries, fresh, options.keeping, options.clock.now())];
  const list = { v: 1 as const, delivery, delivered: { ...source.position }, data };
  try {
    await commitList(store, LIST, list, before, signal);
  } catch (error) {
    // The one that overtook this one has removed what it found, and may have done so before this file came.
    if (isCode(error, "DESTINATION_OVERTAKEN")) await store.delete([fileKey(n), takenKey(n)], signal);
    throw error;
  }
  return list;
};

export interface SnapshotOptions extends Pick<DestinationContext, "clock"> {
  readonly keeping: Keeping;
  readonly memory?: MemoryPlan | undefined;
}

const deliverSnapshot = async (
  store: ObjectStore,
  options: SnapshotOptions,
  source: DeliverySource,
  signal: AbortSignal,
): Promise<Delivered> => {
  const before = await readSnapshots(store, signal);
  const from = before?.list.delivered ?? null;
  // Refuses snapshots of another mirror, and those that are ahead.
  await source.tablesSince(from);
  const { snapshot: path, publishedAt } = source;
  const file = async () => ({ path, bytes: (await stat(path)).size, sha256: await digestOf(path) });
  const newest = before?.list.data[0];
  // A publish without changes shows readers other times and figures.
  const isThere = isUpToDate(from, source) && newest?.at === isoTime(publishedAt);
  let [list, bytes] = [before?.list, 0];
  if (list === undefined || !isThere) {
    const sent = await file();
    list = await addSnapshot(store, before, { ...options, source, file: sent }, signal);
    bytes = sent.bytes;
  }
  const [entry] = list.data;
  if (entry !== undefined) bytes += await bringNow(store, entry, file, signal);
  if (!isThere) await removeUnlisted(store, { list }, signal);
  return { from, to: source.position, tables: [], leftOut: [], bytes };
};

/** Opens nothing yet. The store is closed with the destination. */
export const snapshotDestination = (store: ObjectStore, options: SnapshotOptions): Destination => ({
  position: async () => (await readSnapshots(store, new AbortController().signal))?.list.delivered ?? null,
  deliver: (source, signal) => deliverSnapshot(store, options, source, signal),
  close: async () => store.close(),
});

/** Sends nothing yet. Throws CONFIG_INVALID, DESTINATION_PACKAGE_MISSING. */
export const openSnapshots = async (
  settings: SettingsOf<"snapshot">,
  { memory, azure, clock }: DestinationContext,
): Promise<Destination> =>
  snapshotDestination(await storeOf(settings, azure), { keeping: settings.keep_snapshots, memory, clock });
