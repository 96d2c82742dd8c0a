// The extent of a queued sync: the lists it reads, and whether it covers another request. Pure.
import { timeMs } from "../../core/time.ts";
import type { SyncPayload } from "./payloads.ts";

/** All that is due of its streams; or lists to read anew; or what is dated after a day. */
export type SyncExtent = Pick<SyncPayload, "streams" | "full" | "reset" | "datedAfter">;

const kindOf = ({ reset, datedAfter }: SyncExtent): "due" | "reset" | "dated" => {
  if (reset !== undefined) return "reset";
  return datedAfter === undefined ? "due" : "dated";
};

/** A list is read anew by a sync that names it, or its whole stream. */
const readsAnew = ({ reset = [] }: SyncExtent, list: string): boolean =>
  reset.includes(list) || reset.includes(list.split(":")[0] ?? list);

const dayOf = ({ datedAfter }: SyncExtent): number => timeMs(datedAfter ?? "") ?? Number.POSITIVE_INFINITY;

/**
 * True when a sync covers another one. Only one of the same kind does: a sync of what is due may not read a list from its
 * start, and one of certain lists reads nothing else.
 */
export const covers = (sync: SyncExtent, other: SyncExtent): boolean => {
  if (kindOf(sync) !== kindOf(other) || (!sync.full && other.full)) return false;
  if (other.reset !== undefined) return other.reset.every((list) => readsAnew(sync, list));
  const reachesBack = kindOf(other) === "due" || dayOf(sync) <= dayOf(other);
  return reachesBack && other.streams.every((stream) => sync.streams.includes(stream));
};
