// States of a sync in the queue, and the decision after each of its runs. PURE. A transition that is not drawn here
// throws.
//
//   asked ─queue─▶ waiting ─start─▶ running ──finish──▶ finished
//                    │               │ │ └────fail────▶ failed
//                    ├──cancel───────┼─┼────cancel────▶ cancelled       (waiting may fail, too)
//                    └──expire───────┼─┴────expire────▶ expired
//                                    └─lose─▶ redelivered ─start─▶ running    (or finish, fail, cancel, expire)
//   waiting, running, redelivered ─wipe─▶ lost ─queue─▶ waiting               (asked for again, under another id)
//
// `expire`: its deadline is over; what it committed stays, and the next sync continues from there.
// `lose`: its worker was stopped or killed, lost its lock, or Redis was away: another run continues at the cursor. The
// redelivered sync that had ended when its worker was lost only reports that end. `wipe`: Redis lost its memory.
import type { RunResult, SyncOutcome } from "../../../jobs/publish.ts";
import { DuckmirrorError, isCode } from "../../core/errors.ts";
import { type Problem, problemOf } from "../../core/report/problem.ts";
import type { AskedState } from "../../core/report/triggers.ts";
import { BUSY_MS, HANDED_ON_MS } from "../asking/failures.ts";
import type { SyncTimes } from "../redis/marks.ts";

type End = "finished" | "failed" | "cancelled" | "expired";
export type Life = "asked" | "waiting" | "running" | "redelivered" | "lost" | End;
export type LifeEvent = "queue" | "start" | "lose" | "finish" | "fail" | "cancel" | "expire" | "wipe";

const ENDINGS = { finish: "finished", fail: "failed", cancel: "cancelled", expire: "expired" } as const;
const ARROWS: Readonly<Record<Life, Readonly<Partial<Record<LifeEvent, Life>>>>> = {
  asked: { queue: "waiting" },
  waiting: { start: "running", cancel: "cancelled", expire: "expired", fail: "failed", wipe: "lost" },
  running: { ...ENDINGS, lose: "redelivered", wipe: "lost" },
  redelivered: { ...ENDINGS, start: "running", wipe: "lost" },
  finished: {},
  failed: {},
  cancelled: {},
  expired: {},
  lost: { queue: "waiting" },
};

/** The next state. Throws a TypeError for a transition that is not drawn. */
export const step = (life: Life, event: LifeEvent): Life => {
  const next = ARROWS[life][event];
  if (next === undefined) throw new TypeError(`a sync that is ${life} cannot ${event}`);
  return next;
};

/** The event for an ended sync's outcome. */
export const endEvent = ({ report: { status }, problem }: SyncOutcome): LifeEvent => {
  if (status === "interrupted") return "cancel";
  if (status === "failed") return "fail";
  return problem?.code === LATE.code ? "expire" : "finish";
};

/** Time left for a sync, ms. null: unlimited. */
export interface TimeLeft {
  readonly leftMs: number | null;
  /** Counted from the start of its first run. */
  readonly runMs: number | null;
}

/** `timeoutMs`: time limit of a sync of its profile, counted from the first start, over all its runs. */
export const timeLeftOf = ({ now, startedAt, dueAt }: SyncTimes, timeoutMs: number | null): TimeLeft => {
  const ends = [dueAt, startedAt === null || timeoutMs === null ? null : startedAt + timeoutMs];
  const first = ends.reduce((a, b) => (a === null || b === null ? (a ?? b) : Math.min(a, b)), null);
  return { leftMs: first === null ? null : first - now, runMs: startedAt === null ? timeoutMs : null };
};

/** Facts in the queue about a sync that has not ended. */
export interface LifeFacts {
  readonly times: SyncTimes;
  /** Time limit of a sync of its profile, ms; null: none. */
  readonly timeoutMs: number | null;
  /** Whether a worker runs it now. */
  readonly held: boolean;
  readonly cancelled: boolean;
}

/** State of a sync that has not ended. A waiting sync that was cancelled, or is past its deadline, never starts. */
export const lifeOf = ({ times, timeoutMs, held, cancelled }: LifeFacts): Life => {
  const waiting = step("asked", "queue");
  const { now, startedAt, dueAt } = times;
  // A run that started exactly at the deadline does not count.
  const started = startedAt !== null && (dueAt === null || startedAt < dueAt);
  if (started) return held ? step(waiting, "start") : step(step(waiting, "start"), "lose");
  if (cancelled) return step(waiting, "cancel");
  const { leftMs } = timeLeftOf({ now, startedAt: null, dueAt }, timeoutMs);
  return leftMs !== null && leftMs <= 0 ? step(waiting, "expire") : waiting;
};

/** State as shown to callers. */
export const shownState = (life: Life): AskedState => SHOWN[life];
const SHOWN: Readonly<Record<Life, AskedState>> = {
  asked: "queued",
  waiting: "queued",
  running: "running",
  redelivered: "running",
  finished: "done",
  failed: "failed",
  cancelled: "cancelled",
  expired: "stopped",
  lost: "failed",
};

/** Number of runs ended by Redis after which the sync fails. */
const MOST_BROKEN_OFF = 20;

/** Decision on the job of a sync: end it, for a reason or with all that was asked for; or run again. */
export type NextStep =
  | { readonly kind: "end"; readonly problem: Problem | null }
  | { readonly kind: "again"; readonly afterMs: number };

const INTERRUPTED = problemOf(new DuckmirrorError("INTERRUPTED"));
/** Problem of a sync that ended at its deadline. */
export const LATE: Problem = problemOf(new DuckmirrorError("DURATION_SPENT"));

/** Redis was away, which is no failure of the streams, so the job runs again from the cursor. */
const isBrokenOff = ({ report, problem }: RunResult): boolean =>
  report.status === "failed" && problem?.code === "REDIS_UNAVAILABLE";

/** The streams that none of these runs settles. */
export const unsettled = <T extends string>(results: readonly RunResult[], streams: readonly T[]): readonly T[] =>
  streams.filter(
    (name) =>
      !results.some(
        (result) =>
          !isBrokenOff(result) &&
          result.report.streams.some(({ stream, status }) => stream === name && status !== "interrupted"),
      ),
  );

/** Decision on a sync after its runs, oldest first. */
export const stepAfter = (results: readonly RunResult[], streams: readonly string[], cancelled: boolean): NextStep => {
  const last = results.at(-1);
  if (unsettled(results, streams).length === 0) return { kind: "end", problem: null };
  if (cancelled) return { kind: "end", problem: INTERRUPTED };
  if (last?.problem != null && results.filter(isBrokenOff).length >= MOST_BROKEN_OFF) {
    return { kind: "end", problem: last.problem };
  }
  return { kind: "again", afterMs: last !== undefined && isBrokenOff(last) ? BUSY_MS : HANDED_ON_MS };
};

/** Decision on a sync whose run threw. */
export const stepAfterError = (error: unknown, cancelled: boolean): NextStep => {
  if (isCode(error, "INTERRUPTED"))
    return cancelled ? { kind: "end", problem: INTERRUPTED } : { kind: "again", afterMs: HANDED_ON_MS };
  if (isCode(error, "DURATION_SPENT")) return { kind: "end", problem: LATE };
  // A password that was changed refuses new connections, until the worker is started with the new one.
  const passes = (["WRITER_BUSY", "REDIS_UNAVAILABLE", "REDIS_REFUSED"] as const).some((code) => isCode(error, code));
  if (passes && cancelled) return { kind: "end", problem: INTERRUPTED };
  return passes ? { kind: "again", afterMs: BUSY_MS } : { kind: "end", problem: problemOf(error) };
};
