// Scope task: one scope of one stream in a run, with its strategy's progress and facts about the mirror.
// The loop in sync/run and change-course.ts change it; decisions come from the pure strategies.
//
//   active ── a complete walk did not return some rows ──▶ deleting ── they are settled ──▶ finished
//    │ │                                                      └────── a guard refuses ────▶ failed
//    │ └── read as far as needed ──▶ finished
//    └──── cannot be read ─────────▶ failed, once more for each page that was under way

import { type StreamSpec, streamSpec } from "../../catalog/streams.ts";
import type { DuckmirrorError } from "../../core/errors.ts";
import { isForgottenId } from "../../core/forgotten.ts";
import type { LoadCounts, ScopeState, Work } from "../../warehouse/record/checkpoint.ts";
import type { MirrorFacts, PageRead, ReadRequest, Step } from "../list/coverage/contract.ts";
import type { ListShape } from "../list/form.ts";
import {
  acceptRead,
  nextStep,
  type Progress,
  reopened,
  resumeProgress,
  storedProgress,
} from "../list/ways/progress.ts";
import { type Purpose, workOf } from "../plan/budgets/caps.ts";
import type { Candidate } from "../plan/candidate.ts";
import type { ListOrder } from "../request/calls.ts";
import { acceptedGap } from "../rows/accepted-gap.ts";
import { MOST_AHEAD_MS, overlaps, startProgress } from "./first-progress.ts";
import { parseCursor } from "./stored-cursor.ts";

/** Pages this old are not believed to show the list as it is: a run that resumes them asks at least once. */
const BELIEVED_MS = 600_000;
/** Time after its start up to which a task asks for entries of a log, ms. */
const SPAN_AHEAD_MS = 86_400_000;

const NO_ROWS = { inserted: 0, updated: 0 };

export interface ScopeTask {
  candidate: Candidate;
  readonly stream: StreamSpec;
  before: ScopeState | undefined;
  walkId: string;
  /** Start of this walk by our clock, ms since the epoch. */
  startedAt: number;
  /** When its latest page was received, by our clock; 0: never, or not to be believed. */
  readAt: number;
  /** null: one request suffices (captures, profiles, insights, details). */
  progress: Progress | null;
  /** Newest value of the ordering field, in all pages and in the first page. */
  newest: number | null;
  firstNewest: number | null;
  /** The scope had no row when the walk began, so every row in it was read by this walk. */
  firstMirror: boolean;
  rows: number;
  rejected: number;
  /** Records that a strict table did not take; their keys count as seen. */
  misfits: number;
  /** Records of erased people in the list: the service counts them, the mirror does not hold them. */
  forgotten: ReadonlySet<string>;
  /** Heavy fields requested now, and heavy fields requested on every page so far. */
  readonly wantedContent: readonly string[];
  content: readonly string[];
  matching: number | null;
  last: MirrorFacts["last"];
  /** Rows that a page brought which is asked for again with its fields named. */
  firstForm: { readonly inserted: number; readonly updated: number };
  /** Pages received; a resumed walk starts with 2. */
  pages: number;
  /** Distinct ids of the first page while it is the only one. */
  onlyPage: ReadonlySet<string>;
  /** Requested reads, sent or not. */
  inFlight: readonly ReadRequest[];
  /** Requested reads that are not sent yet, most urgent first. */
  ready: readonly ReadRequest[];
  /** Received pages whose rows are not committed yet; until then, counts of the list are incomplete. */
  uncommitted: number;
  /** A single request was made and has no final answer yet. */
  asked: boolean;
  /** A decision about the next step is running, and another one is needed after it. */
  deciding: boolean;
  undecided: boolean;
  /**
   * Set after a walk that did not add up, while the changes since its start are read: the number of records that the
   * service counts and the mirror cannot hold. Else null.
   */
  closing: number | null;
  /** The list's shape at the first refusal of a later page, or of a list that was returned before; null: none was. */
  shapeAtRefusal: ListShape | null;
  /** Refusals of later pages, whose form the service accepted for the first page. */
  laterRefusals: number;
  /** The lowest row, from 0, whose page was refused in each form, and the failure. No page from there on is requested. */
  refused: { readonly row: number; readonly error: DuckmirrorError } | null;
  /** Set while a resumed walk begins anew: the row at which the service refused its cursor's page, from 0, the failure, and the walk. */
  leftOff: { readonly row: number; readonly error: DuckmirrorError; readonly walk: WalkSoFar } | null;
  /** Changed by `become` only. */
  status: TaskStatus;
}

/** What a task has read of its list, to go on with after another reading. */
export type WalkSoFar = Pick<
  ScopeTask,
  | ("progress" | "walkId" | "startedAt" | "newest" | "firstNewest" | "firstMirror")
  | ("pages" | "onlyPage" | "rejected" | "misfits" | "forgotten" | "content")
>;

type TaskStatus = "active" | "deleting" | "finished" | "failed";

const NEXT: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  active: ["deleting", "finished", "failed"],
  deleting: ["finished", "failed"],
  finished: [],
  failed: ["failed"],
};

/**
 * Changes the status as drawn above. False for any other change, which is not made: the answer to a page that was under way
 * comes too late for a task that has ended.
 */
export const become = (task: ScopeTask, status: TaskStatus): boolean => {
  if (!NEXT[task.status].includes(status)) return false;
  task.status = status;
  return true;
};

/**
 * The cursor of an interrupted walk, as far as it is believed; null: start anew. In the same run no time has passed since it
 * was stored.
 */
const resumedFrom = (before: ScopeState | undefined, now: number, sameRun: boolean): ReturnType<typeof parseCursor> => {
  const read = sameRun ? storedProgress : resumeProgress;
  const cursor = before?.status === "walking" ? parseCursor(before.cursor, read) : null;
  if (cursor === null || now - cursor.readAt <= BELIEVED_MS) return cursor;
  return { ...cursor, progress: reopened(cursor.progress) };
};

/** Creates the task of a candidate: resumes an interrupted walk, or starts. */
export const createTask = (input: {
  readonly candidate: Candidate;
  readonly before: ScopeState | undefined;
  readonly shape: ListShape;
  readonly rows: number;
  readonly runId: string;
  readonly now: number;
  /** The list is read with filters, so the mirror may hold rows of it that do not count. */
  readonly filtered?: boolean;
  /** Heavy fields to request; unset: the same as before the interruption. */
  readonly content?: readonly string[];
  /** The task takes pages of the run that stored its cursor, not of a later one. */
  readonly sameRun?: boolean;
}): ScopeTask => {
  const { candidate, before, shape, rows, runId, now } = input;
  const stream = streamSpec(candidate.stream);
  const resumed = candidate.anew === true ? null : resumedFrom(before, now, input.sameRun === true);
  return {
    candidate,
    stream,
    before,
    walkId: resumed !== null && before?.walkId ? before.walkId : `${runId}/${candidate.stream}/${candidate.scope}`,
    startedAt: resumed?.startedAt ?? now,
    readAt: resumed?.readAt ?? 0,
    progress: resumed?.progress ?? startProgress(candidate, stream, shape, before, overlaps(candidate, rows)),
    newest: resumed?.newest ?? null,
    firstNewest: resumed?.firstNewest ?? null,
    firstMirror: resumed?.firstMirror ?? (rows === 0 && input.filtered !== true),
    rows,
    rejected: resumed?.rejected ?? 0,
    misfits: resumed?.refused ?? 0,
    forgotten: new Set(resumed?.forgotten),
    wantedContent: input.content ?? resumed?.content ?? [],
    content:
      resumed === null
        ? (input.content ?? [])
        : resumed.content.filter((name) => input.content?.includes(name) ?? true),
    matching: null,
    last: null,
    firstForm: NO_ROWS,
    pages: resumed === null ? 0 : 2,
    onlyPage: new Set(),
    inFlight: [],
    ready: [],
    uncommitted: 0,
    asked: false,
    deciding: false,
    undecided: false,
    closing: null,
    shapeAtRefusal: null,
    laterRefusals: 0,
    refused: null,
    leftOff: null,
    status: "active",
  };
};

/** Number of records that the service counts and the mirror cannot hold. */
export const uncountable = (task: ScopeTask): number =>
  task.closing ?? task.rejected + task.misfits + task.forgotten.size;

/** True for a reading that concludes nothing about its list (`sync --since`), so it stores no state either. */
export const isExcerpt = ({ progress }: Pick<ScopeTask, "progress">): boolean =>
  progress?.kind === "filter" && progress.only;

/** Order in which the task's strategy requests the list. */
export const orderOf = (task: ScopeTask): ListOrder => {
  switch (task.progress?.kind) {
    case "watermark":
      return { kind: "changes" };
    case "filter":
      return task.progress.counting
        ? { kind: "walk" }
        : { kind: "filter", after: task.progress.since, exact: !task.progress.only };
    case "log": {
      const { since } = task.progress;
      // The end lies ahead, because the service's clock may, and reading adds entries.
      return since === null ? { kind: "walk" } : { kind: "span", from: since, to: task.startedAt + SPAN_AHEAD_MS };
    }
    case "walk":
      return task.progress.fromHead === null ? { kind: "walk" } : { kind: "walk", ascending: true };
    default:
      return { kind: "walk" };
  }
};

/** The kind of work that the task does now. A look may become a walk, and a walk that does not add up a look. */
export const workOfTask = ({ candidate, progress }: ScopeTask): Work =>
  workOf(progress === null ? candidate.mode : progress.kind);

/** Stream and kind of work of the task's next credit. */
export const purposeOf = (task: ScopeTask): Purpose => ({ stream: task.stream.name, work: workOfTask(task) });

const sameRead = (a: ReadRequest, b: ReadRequest) => a.page === b.page && a.perPage === b.perPage && a.role === b.role;

/** Removes a read from those in flight. */
export const landed = (task: ScopeTask, request: ReadRequest): void => {
  const index = task.inFlight.findIndex((read) => sameRead(read, request));
  task.inFlight = task.inFlight.filter((_, position) => position !== index);
};

/** Adds a page received at `receivedAt`: progress of the strategy, ids seen, newest change. */
export const takePage = (task: ScopeTask, read: PageRead, receivedAt: number): void => {
  landed(task, read);
  task.readAt = Math.max(task.readAt, receivedAt);
  if (task.progress === null) return;
  const known = read.values.filter((value) => value !== null).filter((value) => value <= receivedAt + MOST_AHEAD_MS);
  const newest = known.length === 0 ? null : known.reduce((a, b) => Math.max(a, b));
  if (newest !== null) {
    task.firstNewest ??= newest;
    task.newest = Math.max(task.newest ?? newest, newest);
  }
  task.pages += 1;
  task.forgotten = new Set([...task.forgotten, ...read.ids.filter(isForgottenId)]);
  task.onlyPage = new Set(task.pages === 1 ? read.ids.filter((id) => !isForgottenId(id)) : []);
  task.progress = acceptRead(task.progress, read);
};

/** Adds the counts of a page that is asked for again: its records that are no rows come again. */
export const countFirstForm = (task: ScopeTask, { inserted, updated }: LoadCounts): void => {
  task.rows += inserted;
  task.firstForm = { inserted: task.firstForm.inserted + inserted, updated: task.firstForm.updated + updated };
};

/** Adds the counts of a committed load. */
export const countLoad = (task: ScopeTask, counts: LoadCounts): void => {
  task.rows += counts.inserted;
  task.rejected += counts.rejected;
  task.misfits += counts.misfits ?? 0;
  const { inserted, updated } = task.firstForm;
  task.last = {
    inserted: counts.inserted + inserted,
    updated: counts.updated + updated,
    unchanged: counts.unchanged,
  };
  task.firstForm = NO_ROWS;
};

/** The difference between count and rows that asks for nothing. The count of a list that cannot be read to its end never agrees. */
const expectedGap = ({ closing, leftOff, progress, rows, before }: ScopeTask): number => {
  const total = leftOff !== null && progress?.kind === "watermark" ? progress.coverage.total : null;
  return total === null ? (closing ?? acceptedGap(before) ?? 0) : total - rows;
};

/** The strategy's next step. `seen`: distinct ids of this walk, needed once its coverage is complete. */
export const stepOf = (task: ScopeTask, seen: number, room: number): Step => {
  if (task.progress === null) return task.asked ? { kind: "wait" } : { kind: "read", reads: [] };
  const facts: MirrorFacts = {
    rows: task.rows,
    matching: task.matching === null ? null : task.matching + task.forgotten.size,
    seen,
    rejected: task.rejected + task.forgotten.size,
    last: task.last,
    acceptedGap: expectedGap(task),
  };
  const next = nextStep(task.progress, facts, task.inFlight, room, task.stream.watermark ?? "id");
  task.progress = next.progress;
  if (next.step.kind === "read") task.inFlight = [...task.inFlight, ...next.step.reads];
  return next.step;
};
