// The life of a sync in the queue, and what becomes of a job of it. PURE. An arrow that is not drawn here throws.
//
//   asked ─queue─▶ waiting ─start─▶ running ──finish──▶ finished
//                    │               │ │ └────fail────▶ failed
//                    └──cancel───────┼─┴────cancel────▶ cancelled       (waiting may fail, too)
//                                    └─lose─▶ redelivered ─start─▶ running    (or finish, fail, cancel)
//   waiting, running, redelivered ─forget─▶ lost ─queue─▶ waiting             (asked for again, under another id)
//
// `lose`: its worker was stopped or killed, lost its lock, or Redis was away: another run goes on where the cursor is. The
// redelivered sync that had ended when its worker was lost only reports that end. `forget`: Redis lost its memory.
import { type FamilyResult, failureOf, type Problem, problemOf } from "../../jobs/family.ts";
import { DuckmirrorError, isCode } from "../core/errors.ts";
import type { RunStatus } from "../core/sync-report.ts";
import type { AskedState } from "./asks.ts";

export type Life = "asked" | "waiting" | "running" | "redelivered" | "finished" | "failed" | "cancelled" | "lost";
export type LifeEvent = "queue" | "start" | "lose" | "finish" | "fail" | "cancel" | "forget";

const ARROWS: Readonly<Record<Life, Readonly<Partial<Record<LifeEvent, Life>>>>> = {
  asked: { queue: "waiting" },
  waiting: { start: "running", cancel: "cancelled", fail: "failed", forget: "lost" },
  running: { finish: "finished", fail: "failed", cancel: "cancelled", lose: "redelivered", forget: "lost" },
  redelivered: { start: "running", finish: "finished", fail: "failed", cancel: "cancelled", forget: "lost" },
  finished: {},
  failed: {},
  cancelled: {},
  lost: { queue: "waiting" },
};

/** The next state. Throws a TypeError for an arrow that is not drawn. */
export const step = (life: Life, event: LifeEvent): Life => {
  const next = ARROWS[life][event];
  if (next === undefined) throw new TypeError(`a sync that is ${life} cannot ${event}`);
  return next;
};

/** The event that an ended sync's status is. */
export const endEvent = (status: RunStatus): LifeEvent =>
  status === "interrupted" ? "cancel" : status === "failed" ? "fail" : "finish";

/** What the queue knows of a sync that has not ended. */
export interface LifeFacts {
  /** A run of it has started. */
  readonly started: boolean;
  /** A worker runs it now. */
  readonly held: boolean;
  readonly cancelled: boolean;
}

/** State of a sync that has not ended. One that waits and was cancelled never starts. */
export const lifeOf = ({ started, held, cancelled }: LifeFacts): Life => {
  const waiting = step("asked", "queue");
  if (!started) return cancelled ? step(waiting, "cancel") : waiting;
  return held ? step(waiting, "start") : step(step(waiting, "start"), "lose");
};

/** How a state is shown to those who ask. */
export const shownState = (life: Life): AskedState => SHOWN[life];
const SHOWN: Readonly<Record<Life, AskedState>> = {
  asked: "queued",
  waiting: "queued",
  running: "running",
  redelivered: "running",
  finished: "done",
  failed: "failed",
  cancelled: "cancelled",
  lost: "failed",
};

/** Why a running job was aborted; these reach it as a bare text. */
export const ABORT = { stopping: "stopping", cancelled: "cancelled", lockLost: "lock lost" } as const;

/** Another process writes to the mirror, or Redis was away: look again after this time, ms. */
export const BUSY_MS = 2_000;
/** A job that is handed on to another worker, or to this one after its restart, ms. */
export const HANDED_ON_MS = 200;
/** Runs that Redis broke off, after which the sync fails. */
const MOST_BROKEN_OFF = 20;

/** What becomes of the job of a family. */
export type Fate =
  | { readonly kind: "end"; readonly problem: Problem | null }
  | { readonly kind: "fail"; readonly problem: Problem }
  | { readonly kind: "again"; readonly afterMs: number };

const INTERRUPTED = problemOf(new DuckmirrorError("INTERRUPTED"));

/** Redis was away: that says nothing of the streams, so the job runs again where the cursor is. */
const isBrokenOff = ({ report, problem }: FamilyResult): boolean =>
  report.status === "failed" && problem?.code === "REDIS_UNAVAILABLE";

/** Whether these runs say how each of the streams ended. */
export const settles = (results: readonly FamilyResult[], streams: readonly string[]): boolean =>
  streams.every((name) =>
    results.some(
      (result) =>
        !isBrokenOff(result) &&
        result.report.streams.some(({ stream, status }) => stream === name && status !== "interrupted"),
    ),
  );

/** The fate of a family's job after its runs, oldest first. `streams`: the family's. */
export const fateAfter = (results: readonly FamilyResult[], streams: readonly string[], cancelled: boolean): Fate => {
  const last = results.at(-1);
  if (last === undefined || !settles(results, streams)) {
    if (cancelled) return { kind: "end", problem: INTERRUPTED };
    if (last?.problem != null && results.filter(isBrokenOff).length >= MOST_BROKEN_OFF) {
      return { kind: "fail", problem: last.problem };
    }
    return { kind: "again", afterMs: last !== undefined && isBrokenOff(last) ? BUSY_MS : HANDED_ON_MS };
  }
  const problem = failureOf(last);
  return problem === null ? { kind: "end", problem: null } : { kind: "fail", problem };
};

/** The fate of a family's job whose run threw. */
export const fateOfError = (error: unknown, cancelled: boolean): Fate => {
  if (isCode(error, "INTERRUPTED"))
    return cancelled ? { kind: "end", problem: INTERRUPTED } : { kind: "again", afterMs: HANDED_ON_MS };
  const passes = isCode(error, "WRITER_BUSY") || isCode(error, "REDIS_UNAVAILABLE");
  if (passes && cancelled) return { kind: "end", problem: INTERRUPTED };
  return passes ? { kind: "again", afterMs: BUSY_MS } : { kind: "fail", problem: problemOf(error) };
};
