// Parts that belong to no set: those of earlier sets go after a grace period, so that readers of the earlier manifest can
// finish; those of deliveries that did not end go after a day.
import { timeMs } from "../../../core/time.ts";
import { MANIFEST_NAME } from "../../../warehouse/export/manifest.ts";
import type { ObjectStore } from "../../stores/object-store.ts";
import { LISTS_FOLDER } from "./lists.ts";
import type { SetManifest } from "./set-manifest.ts";

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
