// Decides what a list does next, once the run has counted its rows in the mirror: request more pages, read in another way, delete rows that
// it did not return, close a gap, or end. Pure; next.ts calls it, and run/read-list.ts carries the decision out.
import { DuckmirrorError } from "../../core/errors.ts";
import type { Step } from "./coverage/read-types.ts";
import type { Beginning, Effect, Facts, Transition } from "./events.ts";
import type { ListForm } from "./form.ts";
import {
  type Active,
  acceptedGap,
  type Deleting,
  type Detour,
  isExcerpt,
  type ListState,
  type Live,
  progressOf,
  type Single,
  stepOf,
} from "./state.ts";
import { readByFilter, readChangesAgain, walkWhole, withoutRefused } from "./switch-reading.ts";
import { coverageOf, inFixedPages } from "./ways/progress.ts";

type Next = Transition<ListState>;
const stay = (state: ListState, ...effects: readonly Effect[]): Next => ({ state, effects });

/** The list is walked whole. */
export const walkInstead = (list: Active, because: string, beginning: Beginning): Next =>
  stay(
    walkWhole(list, beginning),
    { kind: "note", text: `${list.stream.name}: full walk, ${because}` },
    { kind: "mode", mode: "walk" },
    { kind: "go-on" },
  );

/**
 * True when rows of the list may be gone: it adds up, and fewer ids were seen than rows are mirrored. The key of a misfit
 * counts as seen although it may have no row, so with misfits as many rows may be gone unnoticed.
 */
const mayHaveLost = ({ reading, rows }: Active, seen: number): boolean =>
  !reading.firstMirror && reading.progress.kind !== "log" && (rows > seen || reading.misfits > 0);

/** Pages that were received within this time count as one moment, ms. */
const MOMENT_MS = 30_000;

/**
 * True when the list may have changed while it was read. A row that came behind the reader and one that went there leave the count as it
 * is; the changes show the new one, where the service sorts by change date (`run/reconcile/close-gap.ts`).
 */
export const mayHaveChanged = ({ reading: { progress, readAt, firstReadAt }, rows }: Active): boolean => {
  if (progress.kind !== "walk") return false;
  const { end, size, moved, total } = progress.coverage;
  const isShort = total !== null && rows < total;
  // The head, read at the end, held every new row, and came with the present count.
  if (progress.headJoined && !isShort) return false;
  return moved || (end > size && (isShort || readAt - firstReadAt > MOMENT_MS));
};

/**
 * False if rows came while pages were read that came side by side and share no row: one that came and one that went may have hidden a
 * third, whatever the counts say.
 */
export const isBelieved = (list: Live): boolean => {
  if (list.kind === "closing") return list.still === null || list.rows <= list.still;
  const progress = progressOf(list);
  return progress?.kind !== "walk" || progress.coverage.overlap || !progress.grew;
};

export const deletingOf = (list: Single | Active): Deleting => {
  const { order, stream, before, walkId, startedAt, rows, wantedContent } = list;
  const reading = list.kind === "single" ? null : list.reading;
  return { ...{ kind: "deleting", order, stream, before, walkId, startedAt, rows, wantedContent, reading } };
};

/**
 * True if rows are lacking and records could not be read, which may be these: it met more of them than the last complete walk left out.
 * `sure`: no other row can be lacking, and nothing is asked of which row it is.
 */
const hidden = (list: Active, seen: number): "none" | "some" | "sure" => {
  const { reading, before, rows } = list;
  if (!mayHaveLost(list, seen) || reading.rejected <= Math.max(0, acceptedGap(before) ?? 0)) return "none";
  return reading.progress.kind === "watermark" && rows - seen <= reading.rejected ? "sure" : "some";
};

/** True if the list is not settled by its counts, or not believed although they agree: rows that are gone are looked for one by one. */
const isDoubtful = (list: Active, { whole, addsUp }: Concluded, lacks: ReturnType<typeof hidden>): boolean => {
  if (whole && (!addsUp || lacks === "some") && list.reading.progress.kind !== "log") return true;
  const isProven = isBelieved(list) && !(list.stream.watermark !== undefined && mayHaveChanged(list));
  return addsUp && !isProven;
};

type Concluded = Pick<Extract<Step, { kind: "done" }>, "whole" | "addsUp">;

/** The list was read as far as needed. */
export const concluded = (list: Active, seen: number, { whole, addsUp }: Concluded): Next => {
  if (isExcerpt(list)) return stay(list, { kind: "close" });
  const content = { kind: "content", whole } as const;
  const compared = addsUp ? [{ kind: "compared" } as const] : [];
  const lacks = hidden(list, seen);
  if (lacks === "sure") return stay(list, { kind: "end", verdict: { whole: false, addsUp: false } });
  if (addsUp && lacks === "none" && mayHaveLost(list, seen))
    return stay(deletingOf(list), content, ...compared, { kind: "delete" });
  if (isDoubtful(list, { whole, addsUp }, lacks)) return stay(list, content, ...compared, { kind: "close-gap" });
  return stay(list, content, ...compared, { kind: "end", verdict: { whole, addsUp } });
};

/** The failure of a walk whose next page was refused: how much of the list the service returns. A company's list has no order. */
export const tooDeep = (refusal: DuckmirrorError, { stream, reading }: Active): DuckmirrorError => {
  const { progress } = reading;
  if (stream.walkOrder === undefined || progress.kind !== "walk" || progress.coverage.total === null) return refusal;
  const { endpoint, detail } = refusal.context;
  const { end, total } = progress.coverage;
  return new DuckmirrorError("LIST_TOO_DEEP", { endpoint, detail, reached: Math.min(end, total), total });
};

/** A list that is too deep, with its present count. */
const withTotal = (error: DuckmirrorError, total: number | null): DuckmirrorError =>
  error.code === "LIST_TOO_DEEP" && total !== null
    ? new DuckmirrorError("LIST_TOO_DEEP", { ...error.context, total })
    : error;

const fail = (list: Active, error: DuckmirrorError): Next => stay(list, { kind: "fail", error, resumable: true });

/** What a detour has shown since: the refused page still exists, or not; null: nothing yet. */
const afterDetour = (list: Detour, facts: Facts): Next | null => {
  const { progress, pages } = list.reading;
  const coverage = coverageOf(progress);
  // A filtered list counts something else.
  if (progress.kind === "filter" || pages === 0 || coverage === null) return null;
  const reaches = coverage.total !== null && coverage.total > list.left.row;
  const byChanges = progress.kind === "watermark";
  // It goes on once its changes are read.
  if (reaches) return byChanges ? null : fail(list, withTotal(list.left.error, coverage.total));
  const { left: _, ...rest } = list;
  return byChanges
    ? stay(walkWhole(list, facts), { kind: "go-on" })
    : stay({ ...rest, kind: "reading", refused: null }, { kind: "go-on" });
};

/** The changes are not shown first: they are found by filter, or the list is walked. */
const unordered = (list: Active, step: Extract<Step, { kind: "unordered" }>, facts: Facts): Next => {
  const lack = { kind: "remember", lack: { changeOrder: false } } as const;
  const shape: ListForm = { ...facts.shape, ...lack.lack };
  if (step.agrees && list.stream.filter !== undefined) {
    const note = { kind: "note", text: `${list.stream.name}: filtered, ${step.because}` } as const;
    return stay(readByFilter(list, shape), lack, note, { kind: "mode", mode: "filter" }, { kind: "go-on" });
  }
  const { state, effects } = walkInstead(list, step.because, { ...facts, shape });
  return stay(state, lack, ...effects);
};

const afterStep = (list: Active, step: Step, facts: Facts): Next => {
  switch (step.kind) {
    case "read": {
      const refused = list.kind === "reading" ? list.refused : null;
      if (refused === null) return stay({ ...list, requests: { ...list.requests, unsent: step.reads } });
      const asking = withoutRefused(list, step.reads, refused.row);
      if (asking.requests.wanted.length > 0) return stay(asking);
      return fail(asking, tooDeep(refused.error, asking));
    }
    case "wait":
      return stay(list);
    case "unordered":
      return unordered(list, step, facts);
    case "unfiltered": {
      const lack = { changeFilter: false };
      const { state, effects } = walkInstead(list, step.because, { ...facts, shape: { ...facts.shape, ...lack } });
      return stay(state, { kind: "remember", lack }, ...effects);
    }
    case "again":
      return stay(readChangesAgain(list), { kind: "go-on" });
    case "walk":
      return stay(list, { kind: "find-gone", because: step.because });
    case "done":
      return concluded(list, facts.seen, step);
    default:
      return step satisfies never;
  }
};

/** Reads that were decided but not sent are decided again, because the list may have changed. */
const withoutUnsent = <L extends Active>(list: L): L => {
  const { wanted, unsent, uncommitted } = list.requests;
  return { ...list, requests: { wanted: wanted.filter((read) => !unsent.includes(read)), unsent: [], uncommitted } };
};

/** True when nothing can be decided before more pages are committed. */
export const mustWait = ({ reading: { progress }, requests }: Active): boolean => {
  const complete = coverageOf(progress)?.complete === true;
  const underWay = requests.wanted.length - requests.unsent.length;
  return (requests.uncommitted > 0 && (complete || progress.kind !== "walk")) || (complete && underWay > 0);
};

/** Decides the next step of a list. */
export const decide = (before: Active, facts: Facts): Next => {
  const left = before.kind === "detour" ? afterDetour(before, facts) : null;
  if (left !== null) return left;
  const idle = withoutUnsent(before);
  if (mustWait(idle)) return stay(idle);
  const progress = inFixedPages(idle.reading.progress, facts.shape.fixed);
  const list: Active = { ...idle, rows: facts.rows ?? idle.rows, reading: { ...idle.reading, progress } };
  const { step, list: next } = stepOf(list, facts, facts.room);
  const ends = step.kind !== "read" && step.kind !== "wait";
  if (ends && next.kind === "detour" && progress.kind !== "walk") {
    return fail(next, withTotal(next.left.error, progress.kind === "watermark" ? progress.coverage.total : null));
  }
  if (ends && next.kind === "closing") return stay(next, { kind: "end-closing", agrees: step.kind === "done" });
  return afterStep(next, step, facts);
};
