// Progress of reading one list, in whichever way it is read: passes a page to walk.ts, changes.ts, filter.ts or log.ts, returns their next
// step, and converts the progress to a stored cursor and back. A stored cursor is validated, because another version of the program may
// have written it. Pure.
import { z } from "zod";
import { type Coverage, reopenedCoverage, resumedCoverage } from "../coverage/coverage.ts";
import type { ReadSoFar } from "../coverage/list-end.ts";
import type { MirrorFacts, PageRead, ReadRequest, Step } from "../coverage/read-types.ts";
import { acceptWatermark, nextWatermark, startWatermark, watermarkSchema } from "./changes.ts";
import { acceptFilter, filterSchema, nextFilter, startFilter } from "./filter.ts";
import { acceptLog, type LogState, logSchema, nextLog } from "./log.ts";
import { acceptWalk, nextWalk, secondPass, walkSchema, wantsSecondPass } from "./walk.ts";

const progressSchema = z.discriminatedUnion("kind", [walkSchema, watermarkSchema, filterSchema, logSchema]);
export type Progress = z.infer<typeof progressSchema>;

/** Adds a received page. */
export const acceptRead = (progress: Progress, read: PageRead): Progress => {
  switch (progress.kind) {
    case "walk":
    case "known":
      return acceptWalk(progress, read);
    case "watermark":
      return acceptWatermark(progress, read);
    case "filter":
      return acceptFilter(progress, read);
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
    case "walk":
    case "known": {
      const step = nextWalk(progress, facts, inFlight, room);
      if (step.kind !== "done" || step.addsUp || !wantsSecondPass(progress, facts)) return { step, progress };
      const again = secondPass(progress);
      return { step: nextWalk(again, facts, inFlight, room), progress: again };
    }
    case "watermark":
      return { step: nextWatermark(progress, facts, inFlight, field), progress };
    case "filter":
      return { step: nextFilter(progress, facts, inFlight), progress };
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
): Exclude<Progress, LogState> => ({ ...progress, coverage: change(progress.coverage) });

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
  return progress.coverage;
};

/** Coverage of the list; null for a log. */
export const coverageOf = (progress: Progress): Coverage | null => (progress.kind === "log" ? null : progress.coverage);

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
    case "known":
      return progress.coverage.complete ? { ...progress, coverage: reopenedCoverage(progress.coverage) } : progress;
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

/** The cursor: progress, and what else an interrupted reading knew. Stored as JSON in `sync.stream_state`. */
const cursorSchema = z.object({
  progress: progressSchema,
  startedAt: z.number(),
  readAt: z.number(),
  newest: z.number().nullable(),
  firstNewest: z.number().nullable(),
  firstMirror: z.boolean(),
  rejected: z.number(),
  misfits: z.number(),
  forgotten: z.array(z.string()),
  content: z.array(z.string()).readonly(),
});
export type Cursor = z.infer<typeof cursorSchema>;

/** The cursor as it was stored; null when it is missing or unreadable, and the scope then starts anew. */
export const storedCursor = (text: string | null | undefined): Cursor | null => {
  try {
    return cursorSchema.safeParse(JSON.parse(text ?? "null")).data ?? null;
  } catch {
    return null;
  }
};

/** The cursor of another process, in this one: the boundary of its coverage must be proven again. */
export const resumedCursor = (cursor: Cursor): Cursor =>
  cursor.progress.kind === "log" ? cursor : { ...cursor, progress: withCoverage(cursor.progress, resumedCoverage) };
