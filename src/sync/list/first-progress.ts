// Where a reading begins: at the head of the list, and for changes, some time before the watermark.
import type { StreamSpec } from "../../catalog/streams.ts";
import type { ScopeState } from "../../warehouse/record/checkpoint.ts";
import { type ListShape, proofOf } from "./form.ts";
import type { ReadingOrder } from "./order.ts";
import { startWatermark } from "./ways/changes.ts";
import { startFilter } from "./ways/filter.ts";
import { startLog } from "./ways/log.ts";
import type { Progress } from "./ways/progress.ts";
import { startKnown, startWalk } from "./ways/walk.ts";

/**
 * Distance behind the watermark from which changes are read again: clocks differ, and some fields hold only a date.
 */
const WATERMARK_OVERLAP_MS = { updatedAt: 3_600_000, other: 2 * 86_400_000 };

/**
 * Clocks and zones differ by less. A value further ahead is no time of a change: as the watermark, one record dated in 2099
 * would hide every change of the others.
 */
export const MOST_AHEAD_MS = 86_400_000;

export const overlapMs = (stream: StreamSpec) =>
  stream.watermark === "updatedAt" ? WATERMARK_OVERLAP_MS.updatedAt : WATERMARK_OVERLAP_MS.other;

/**
 * Pages share rows in reconciling walks and in every walk that may delete, also where growing ids join them. If an
 * insert and a delete balance, the count stays the same, and only a shared row proves that no row was skipped.
 */
export const overlaps = (order: Pick<ReadingOrder, "overlap">, rows: number): boolean => order.overlap || rows > 0;

export const startProgress = (
  order: ReadingOrder,
  stream: StreamSpec,
  shape: ListShape,
  before: ScopeState | undefined,
  overlap: boolean,
): Progress | null => {
  const size = shape.perPage;
  const since = before?.watermark === undefined || before.watermark === null ? 0 : before.watermark - overlapMs(stream);
  switch (order.mode) {
    case "walk":
      return startWalk({ size, overlap, proof: proofOf(stream, shape) });
    case "watermark":
      return startWatermark({ size, since });
    case "filter":
      return order.since === undefined
        ? startFilter({ size, since, counted: (before?.totalCount ?? null) !== null })
        : startFilter({ size, since: order.since, only: true });
    case "known":
      return startKnown({ size });
    case "log":
      return startLog({ size, first: (before?.checkedAt ?? null) === null, since: order.since });
    default:
      return null;
  }
};
