// Progress of one scope: one set of functions for all strategies. Stored as JSON in the checkpoint. Pure. Stored
// state is validated on reading, because another version of the program may have written it.
import { z } from "zod";
import type { MirrorFacts, PageRead, ReadRequest, Step } from "../coverage/contract.ts";
import { type Coverage, reopenedCoverage, resumedCoverage } from "../coverage/coverage.ts";
import { noLap, type ReadSoFar } from "../coverage/list-end.ts";
import { acceptWatermark, nextWatermark, startWatermark, type WatermarkState } from "./changes.ts";
import { acceptFilter, type FilterState, nextFilter, startFilter } from "./filter.ts";
import { acceptLog, type LogState, nextLog } from "./log.ts";
import {
  acceptKnown,
  acceptWalk,
  type KnownState,
  nextKnown,
  nextWalk,
  secondPass,
  type WalkState,
  wantsSecondPass,
} from "./walk.ts";

export type Progress = WalkState | WatermarkState | FilterState | KnownState | LogState;

/** Adds a received page. */
export const acceptRead = (progress: Progress, read: PageRead): Progress => {
  switch (progress.kind) {
    case "walk":
      return acceptWalk(progress, read);
    case "watermark":
      return acceptWatermark(progress, read);
    case "filter":
      return acceptFilter(progress, read);
    case "known":
      return acceptKnown(progress, read);
    case "log":
      return acceptLog(progress, read);
    default:
      return progress satisfies never;
  }
};

/** The next step, and the progress after it. `field`: the stream's ordering field, for messages. */
export const nextStep = (
  progress: Progress,
  facts: MirrorFacts,
  inFlight: readonly ReadRequest[],
  room: number,
  field: string,
): { readonly step: Step; readonly progress: Progress } => {
  switch (progress.kind) {
    case "walk": {
      const step = nextWalk(progress, facts, inFlight, room);
      if (step.kind !== "done" || step.addsUp || !wantsSecondPass(progress, facts)) return { step, progress };
      const again = secondPass(progress);
      return { step: nextWalk(again, facts, inFlight, room), progress: again };
    }
    case "watermark":
      return { step: nextWatermark(progress, facts, inFlight, field), progress };
    case "filter":
      return { step: nextFilter(progress, facts, inFlight), progress };
    case "known":
      return { step: nextKnown(progress, facts, inFlight), progress };
    case "log":
      return { step: nextLog(progress, facts, inFlight), progress };
    default:
      return progress satisfies never;
  }
};

/** The progress with another coverage; a log has none. */
const withCoverage = (
  progress: Exclude<Progress, LogState>,
  change: (coverage: Coverage) => Coverage,
): Exclude<Progress, LogState> =>
  progress.kind === "known"
    ? { ...progress, walk: { ...progress.walk, coverage: change(progress.walk.coverage) } }
    : { ...progress, coverage: change(progress.coverage) };

/** The progress with a smaller page size, because the service granted less than requested. */
export const withPageSize = (progress: Progress, size: number): Progress =>
  progress.kind === "log"
    ? { ...progress, size: Math.min(progress.size, size) }
    : withCoverage(progress, (coverage) => ({ ...coverage, size: Math.min(coverage.size, size) }));

/** The progress in pages of one size, if the service takes no other. */
export const inFixedPages = (progress: Progress, fixed: boolean): Progress =>
  progress.kind === "log" || coverageOf(progress)?.fixed === fixed
    ? progress
    : withCoverage(progress, (coverage) => ({ ...coverage, fixed }));

/** The same in pages of a size that the service accepted before smaller ones were tried. */
export const inPagesOf = (progress: Progress, size: number): Progress =>
  progress.kind === "log" ? { ...progress, size } : withCoverage(progress, (coverage) => ({ ...coverage, size }));

/** The progress of a reading of changes, with a newer count of the whole list. */
export const withTotal = (progress: Progress, total: number): Progress => {
  if (progress.kind === "filter") return { ...progress, total };
  return progress.kind === "watermark" ? withCoverage(progress, (coverage) => ({ ...coverage, total })) : progress;
};

/** How far the list was read. */
export const readSoFar = (progress: Progress): ReadSoFar => {
  if (progress.kind === "log")
    return { end: (progress.page - 1) * progress.size, total: progress.total, openEnd: false };
  const { end, total, openEnd } = progress.kind === "known" ? progress.walk.coverage : progress.coverage;
  return { end, total, openEnd };
};

/** Coverage of the list; null for a log. */
export const coverageOf = (progress: Progress): Coverage | null => {
  switch (progress.kind) {
    case "known":
      return progress.walk.coverage;
    case "log":
      return null;
    default:
      return progress.coverage;
  }
};

/**
 * Stored progress that is too old to be believed: if nothing was left to read, the end of a walk is read once more, and
 * changes are read anew from the same time. Else reading goes on, and changes know that their first pages are old.
 */
export const reopened = (before: Progress): Progress => {
  // The service may grant smaller pages by now.
  const progress =
    before.kind === "log"
      ? { ...before, granted: 0 }
      : withCoverage(before, (coverage) => ({ ...coverage, granted: 0 }));
  switch (progress.kind) {
    case "walk":
      return progress.coverage.complete ? { ...progress, coverage: reopenedCoverage(progress.coverage) } : progress;
    case "known": {
      const { coverage } = progress.walk;
      if (!coverage.complete) return progress;
      return { ...progress, walk: { ...progress.walk, coverage: reopenedCoverage(coverage) } };
    }
    case "watermark":
      return progress.reachedKnown || progress.coverage.complete
        ? startWatermark({ size: progress.coverage.size, since: progress.since })
        : { ...progress, resumed: true };
    case "filter":
      return progress.coverage.complete
        ? startFilter({
            size: progress.coverage.size,
            since: progress.since,
            only: progress.only,
            counted: progress.total !== null,
          })
        : progress;
    case "log":
      return progress;
    default:
      return progress satisfies never;
  }
};

const role = z.enum(["cover", "bridge", "head"]);
const pageRead = z.object({
  page: z.number(),
  perPage: z.number(),
  role,
  follows: z.literal(true).optional(),
  ids: z.array(z.string()),
  rows: z.number(),
  values: z.array(z.number().nullable()),
  total: z.number().nullable(),
  more: z.boolean().optional(),
  granted: z.number().optional(),
  refused: z.boolean().optional(),
});
const coverage = z.object({
  size: z.number(),
  // Missing in states of older versions, and so is the next one.
  fixed: z.boolean().default(false),
  granted: z.number().default(0),
  overlap: z.boolean(),
  end: z.number(),
  tail: z.array(z.string()),
  head: z.array(z.string()),
  total: z.number().nullable(),
  joinedTotal: z.number().nullable(),
  // Missing in states of older versions.
  fall: z.number().default(0),
  moved: z.boolean(),
  fresh: z.boolean(),
  waiting: z.array(pageRead),
  bridgeAt: z.number().nullable(),
  bridges: z.number(),
  repairs: z.number(),
  // Missing in states of older versions, and so is the next one.
  emptyFrom: z.number().nullable().default(null),
  idle: z.number().default(0),
  lap: z
    .object({ mark: z.array(z.string()).readonly(), behind: z.number(), reads: z.number(), again: z.number() })
    .default(noLap),
  proven: z.boolean(),
  // Missing in states of older versions, and so is the next one.
  openEnd: z.boolean().default(false),
  endsEarly: z.boolean().default(false),
  complete: z.boolean(),
});
const walk = z.object({
  kind: z.literal("walk"),
  coverage,
  proof: z.enum(["descending", "identity"]),
  ordered: z.boolean(),
  pass: z.number(),
  headReads: z.number(),
  headJoined: z.boolean(),
  // Missing in states of older versions.
  grew: z.boolean().default(false),
  // Set by older versions that read a list from its other end: such a state is not read.
  fromHead: z.null().optional(),
});
const stored = z.discriminatedUnion("kind", [
  walk,
  z.object({
    kind: z.literal("watermark"),
    coverage,
    pages: z.number(),
    since: z.number(),
    newest: z.number().nullable(),
    sorted: z.boolean(),
    reachedKnown: z.boolean(),
    oldest: z.number().nullable(),
    // Missing in states of older versions.
    resumed: z.boolean().default(false),
  }),
  z.object({
    kind: z.literal("filter"),
    coverage,
    since: z.number(),
    newest: z.number().nullable(),
    only: z.boolean().default(false),
    // Missing in states of older versions.
    counting: z.boolean().default(false),
    total: z.number().nullable().default(null),
    ignored: z.boolean().default(false),
  }),
  z.object({ kind: z.literal("known"), walk }),
  z.object({
    kind: z.literal("log"),
    size: z.number(),
    total: z.number().nullable(),
    newestOn: z.enum(["first", "last"]).nullable(),
    page: z.number(),
    ended: z.boolean(),
    first: z.boolean(),
    latest: z.array(z.string()),
    repeated: z.number(),
    // Missing in states of older versions.
    since: z.number().nullable().default(null),
    granted: z.number().default(0),
  }),
]);

/** The progress as text for `sync.stream_state`. */
export const serialiseProgress = (progress: Progress): string => JSON.stringify(progress);

/** The progress as it was stored; null when it is unreadable, and the scope then starts anew. */
export const storedProgress = (text: string): Progress | null => {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return null;
  }
  const parsed = stored.safeParse(raw);
  return parsed.success ? parsed.data : null;
};

/** The progress stored by another process, in this one. null: unreadable. */
export const resumeProgress = (text: string): Progress | null => {
  const progress = storedProgress(text);
  if (progress === null || progress.kind === "log") return progress;
  return withCoverage(progress, resumedCoverage);
};

// The stored cursor: progress, and what else an interrupted reading knew.

const storedCursor = z.object({
  progress: z.string(),
  startedAt: z.number(),
  readAt: z.number().default(0),
  newest: z.number().nullable(),
  firstNewest: z.number().nullable(),
  firstMirror: z.boolean(),
  rejected: z.number(),
  /** Misfits, by the name that earlier versions stored. */
  refused: z.number().default(0),
  forgotten: z.array(z.string()).default([]),
  content: z.array(z.string()).readonly().default([]),
});

/**
 * The cursor from its stored text; null when it is missing or unreadable, and the scope then starts anew. `read`: the
 * progress for another run, or as it was stored.
 */
export const parseCursor = (text: string | null | undefined, read = resumeProgress) => {
  if (text === null || text === undefined) return null;
  try {
    const parsed = storedCursor.safeParse(JSON.parse(text));
    if (!parsed.success) return null;
    const progress = read(parsed.data.progress);
    return progress === null ? null : { ...parsed.data, progress };
  } catch {
    return null;
  }
};

/** The cursor as text. */
export const cursorText = (
  cursor: Omit<z.infer<typeof storedCursor>, "progress"> & { readonly progress: Progress },
): string =>
  JSON.stringify({ ...cursor, progress: serialiseProgress(cursor.progress) } satisfies z.infer<typeof storedCursor>);
