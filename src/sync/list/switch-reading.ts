// Changes how a list is read while a run reads it: from one way of reading to another (every page, changes only, a date filter), or to
// another page size or form. next.ts and decide.ts call it after a refused page, or when the counts show missed rows. Pure.

import type { Coverage } from "./coverage/coverage.ts";
import { spanAt, startOf } from "./coverage/page-geometry.ts";
import type { ReadRequest } from "./coverage/read-types.ts";
import type { Beginning } from "./events.ts";
import { type ListForm, proofOf } from "./form.ts";
import {
  type Active,
  type Closing,
  type Detour,
  emptyReading,
  type Live,
  overlapMs,
  overlaps,
  type Reading,
  type ReadingList,
  type RefusedRow,
  startProgress,
  unreadIn,
} from "./state.ts";
import { startWatermark } from "./ways/changes.ts";
import { startFilter } from "./ways/filter.ts";
import { coverageOf, type Progress, withPageSize } from "./ways/progress.ts";
import { startWalk } from "./ways/walk.ts";

/** Another way of reading, of which no page was received. What was counted of the list stays. */
const anotherWay = (reading: Reading, progress: Progress): Reading => ({
  ...{ ...reading, progress, pages: 0, onlyPage: new Set<string>() },
});

/** The list, read as `Kind` from now on, without what only its present kind knows. */
const paged = ({ order, stream, before, walkId, startedAt, rows, wantedContent, ...list }: Active) => ({
  ...{ order, stream, before, walkId, startedAt, rows, wantedContent },
  ...{ reading: list.reading, requests: list.requests, negotiation: list.negotiation },
  ...{ last: list.last, firstForm: list.firstForm },
});

/** A walk of the whole list, when the shorter reading did not suffice. */
export const walkWhole = (list: Active, { runId, now, shape }: Beginning): ReadingList => {
  const { order } = list;
  const progress = startWalk({
    size: shape.perPage,
    overlap: overlaps(order, list.rows),
    proof: proofOf(list.stream, shape),
  });
  const fresh = emptyReading(progress, { firstMirror: list.rows === 0, content: list.wantedContent });
  const { readAt, newest, firstNewest } = list.reading;
  return {
    ...{ ...paged(list), kind: "reading", refused: null },
    walkId: `${runId}/${order.stream}/${order.scope}/walk`,
    startedAt: now,
    reading: { ...fresh, readAt, newest, firstNewest },
  };
};

/** The list goes on without the page: by its changes, if it shows them, else from its head. */
export const leaveReading = (list: Active, left: RefusedRow, beginning: Beginning): Detour => {
  const { stream, order, before, startedAt, reading } = list;
  const { runId, shape } = beginning;
  if (stream.watermark === undefined || !shape.changeOrder) {
    const { refused: _, ...walk } = walkWhole(list, beginning);
    return { ...walk, kind: "detour", left };
  }
  const progress = startWatermark({ size: shape.perPage, since: (before?.watermark ?? startedAt) - overlapMs(stream) });
  return {
    ...{ ...paged(list), kind: "detour", left },
    walkId: `${runId}/${order.stream}/${order.scope}/changes`,
    reading: { ...anotherWay(reading, progress), newest: null, firstNewest: null },
  };
};

/** Continues a reading of changes by the filter of the list, which needs no order. */
export const readByFilter = <L extends Active>(list: L, { perPage: size }: ListForm): L => {
  const { reading } = list;
  if (reading.progress.kind !== "watermark") return list;
  return { ...list, reading: anotherWay(reading, startFilter({ size, since: reading.progress.since })) };
};

/** Reads what changed since a resumed reading of changes began. */
export const readChangesAgain = <L extends Active>(list: L): L => {
  const { reading, startedAt, stream } = list;
  if (reading.progress.kind !== "watermark") return list;
  const { size } = reading.progress.coverage;
  return { ...list, reading: anotherWay(reading, startWatermark({ size, since: startedAt - overlapMs(stream) })) };
};

/** Mirrored rows of a walk whose pages came side by side and share no row; null: they share rows, or came one after the other. */
const stillRows = ({ reading: { progress }, rows }: Active): number | null => {
  if (progress.kind !== "walk") return null;
  const { overlap, moved } = progress.coverage;
  return overlap || moved ? null : rows;
};

/** After a walk: reads the changes since its start, and the present count of the list. */
export const closeByChanges = (list: Active, { perPage: size }: ListForm): Closing => ({
  ...{ ...paged(list), kind: "closing", unread: unreadIn(list), still: stillRows(list) },
  reading: {
    ...list.reading,
    progress: startWatermark({ size, since: list.startedAt - overlapMs(list.stream) }),
  },
});

/** The page of full size that holds the first row not read yet: services count their limit in such pages. None is refused twice. */
const lastBefore = ({ end, size }: Coverage, refusedRow: number): readonly ReadRequest[] => {
  const read: ReadRequest = { ...spanAt(end, size, true), role: "cover" };
  return startOf(read) < Math.min(end, refusedRow) ? [read] : [];
};

/** The list, asked for `reads` without those that begin at a refused row. */
export const withoutRefused = <L extends Active>(list: L, reads: readonly ReadRequest[], refusedRow: number): L => {
  const { requests, reading } = list;
  if (reading.progress.kind !== "walk") return { ...list, requests: { ...requests, unsent: reads } };
  const unsent = reads.filter((read) => startOf(read) < refusedRow);
  const wanted = requests.wanted.filter((read) => unsent.includes(read) || !reads.includes(read));
  if (wanted.length > 0) return { ...list, requests: { ...requests, wanted, unsent } };
  const last = lastBefore(reading.progress.coverage, refusedRow);
  return { ...list, requests: { ...requests, wanted: last, unsent: last } };
};

/** Applies a new form of the list, from the head if nothing was read yet. */
export const withForm = (list: Live, shape: ListForm): Live => {
  if (list.kind === "single" || list.kind === "deleting") return list;
  const { reading, stream, order } = list;
  const { progress } = reading;
  const coverage = coverageOf(progress);
  const orderGone = progress.kind === "watermark" && !shape.changeOrder;
  const filterGone = progress.kind === "filter" && !progress.only && !shape.changeFilter;
  const isFilterable = stream.filter !== undefined && shape.changeFilter;
  const mode = filterGone || (orderGone && !isFilterable) ? "walk" : orderGone ? "filter" : progress.kind;
  // The first page may be loaded already, if it is asked for again by name.
  const heldBefore = reading.firstMirror ? 0 : list.rows;
  const untouched = coverage === null ? progress.kind === "log" && progress.newestOn === null : coverage.end === 0;
  const next = untouched
    ? startProgress({ ...order, mode }, stream, shape, list.before, overlaps(order, heldBefore))
    : withPageSize(progress, shape.perPage);
  return next === null ? list : { ...list, reading: { ...reading, progress: next } };
};
