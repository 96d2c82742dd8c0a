// `_manifest.json` of a delivered set: the parts that belong together, and how far the set has come. It is written last, and
// only if nobody else wrote it since it was read.
import { z } from "zod";
import { DuckmirrorError, detailOf } from "../../../core/errors.ts";
import { entrySchema, MANIFEST_NAME, type ManifestEntry } from "../../../warehouse/export/manifest.ts";
import type { ObjectStore, StoredText } from "../../stores/object-store.ts";

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

/** A manifest as read, with the tag that replaces it. */
export interface ReadSet {
  readonly manifest: SetManifest;
  readonly etag: string;
}

const parsed = ({ text, etag }: StoredText, name: string): ReadSet => {
  try {
    return { manifest: setSchema.parse(JSON.parse(text)), etag };
  } catch (error) {
    const detail = `its ${MANIFEST_NAME} is not one of a delivery (${detailOf(error).slice(0, 200)})`;
    throw new DuckmirrorError("DESTINATION_FAILED", { name, detail }, { cause: error });
  }
};

/** null: the store holds no set yet. Throws DESTINATION_FAILED where it holds something else. */
export const readSet = async (store: ObjectStore, signal: AbortSignal): Promise<ReadSet | null> => {
  const found = await store.get(MANIFEST_NAME, signal);
  return found === null ? null : parsed(found, store.name);
};

/** Replaces the manifest that was read. Throws DESTINATION_OVERTAKEN when another delivery did so meanwhile. */
export const commitSet = async (
  store: ObjectStore,
  before: ReadSet | null,
  manifest: SetManifest,
  signal: AbortSignal,
): Promise<void> => {
  const text = `${JSON.stringify(manifest, null, 1)}\n`;
  const condition = before === null ? { ifNoneMatch: "*" as const } : { ifMatch: before.etag };
  if (await store.put(MANIFEST_NAME, text, condition, signal)) return;
  // A write whose answer was lost is repeated, and then refused because of itself.
  const found = await readSet(store, signal);
  if (found?.manifest.delivery === manifest.delivery) return;
  throw new DuckmirrorError("DESTINATION_OVERTAKEN", { name: store.name });
};
