// The job of a family: joins the run of its sync; sync-life.ts decides whether it then ends, fails or runs again.
import { DelayedError } from "bullmq";
import type { z } from "zod";
import { familyNamed, openStreams } from "../../../jobs/families.ts";
import { type FamilyResult, type Problem, resultFor } from "../../../jobs/family.ts";
import type { Sessions } from "../../../jobs/session.ts";
import type { StreamName } from "../../catalog/streams.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { isCode } from "../../core/errors.ts";
import type { Scrubber } from "../../core/secret.ts";
import type { SyncResult } from "../../sync/run/run-sync.ts";
import { errorOf } from "../asking/asks.ts";
import {
  type FamilyProgress,
  familyPayload,
  familyProgress,
  isForOthers,
  type SyncPayload,
  syncHead,
  unreadable,
  WRITTEN,
} from "../asking/payloads.ts";
import type { SyncBoard } from "./sync-board.ts";
import { ABORT, BUSY_MS, type Fate, fateAfter, fateOfError, HANDED_ON_MS, settles, timeLeftOf } from "./sync-life.ts";
import {
  knownProfile,
  leaveToOthers,
  leaveUnread,
  putOff,
  readPayload,
  SYNC_PATIENCE_MS,
  type Taken,
} from "./taken-job.ts";

/** Why a sync may not start yet: it is paused, or one that a person asked for is taken first. */
export type HeldBack = "paused" | "behind";

/**
 * Time until a sync that is held back is checked again, ms. Resuming makes its jobs due at once, so a paused one is
 * checked rarely.
 */
const HELD_BACK_MS: Readonly<Record<HeldBack, number>> = { paused: 30_000, behind: BUSY_MS };

export interface FamilyDeps {
  readonly profiles: readonly Config[];
  readonly sessions: Pick<Sessions, "join">;
  readonly board: SyncBoard;
  /** Why the sync may not start yet; null: it may, or it runs. Unset: nothing is held back. */
  readonly holdBack?: (sync: Pick<SyncPayload, "syncId" | "profile">) => Promise<HeldBack | null>;
  readonly clock: Clock;
  /** Removes secrets from values stored in Redis. */
  readonly scrubber: Pick<Scrubber, "scrub">;
}

/** The value with secrets removed from its texts. */
export const scrubbed = <T>(schema: z.ZodType<T>, value: T, { scrubber }: Pick<FamilyDeps, "scrubber">): T =>
  schema.parse(JSON.parse(scrubber.scrub(JSON.stringify(value))));

const resultsIn = (progress: unknown): readonly FamilyResult[] =>
  familyProgress.safeParse(progress).data?.results ?? [];

/** Runs in order; of one run, the later result counts. */
const joined = (earlier: readonly FamilyResult[], later: readonly FamilyResult[]): FamilyResult[] => [
  ...new Map([...earlier, ...later].map((result) => [result.report.run_id, result])).values(),
];

const streamsOf = (family: string, sync: Pick<SyncPayload, "streams">): readonly StreamName[] =>
  familyNamed(family)?.streams.filter((stream) => sync.streams.includes(stream)) ?? [];

/** Streams for a further run of the sync, by the jobs of all its families. Throws JOB_VERSION. */
const openOf = async (sync: SyncPayload, { board }: FamilyDeps): Promise<readonly StreamName[]> => {
  const progress = await board.progressOf(sync.syncId, sync.families);
  const unread = [...progress.values()].find(isForOthers);
  if (unread !== undefined) throw unreadable(sync.syncId, unread);
  const open = sync.families.flatMap((family) => {
    const own = streamsOf(family, sync);
    return settles(resultsIn(progress.get(family)), own) ? [] : own;
  });
  return openStreams(sync.streams, open);
};

/** Stores the result of a run with the jobs of all families, so that jobs in other processes end in the same way. */
export const keepResult = async (
  syncId: string,
  result: SyncResult,
  families: readonly string[],
  { board, scrubber }: Pick<FamilyDeps, "board" | "scrubber">,
): Promise<void> => {
  const streams = result.report.streams.map(({ stream }) => stream);
  const known = await board.progressOf(syncId, families);
  for (const [family, progress] of known) {
    const own = familyNamed(family)?.streams.filter((stream) => streams.includes(stream)) ?? [];
    if (own.length === 0 || isForOthers(progress)) continue;
    const results = joined(resultsIn(progress), [resultFor(result, own)]);
    await board.keep(
      syncId,
      family,
      scrubbed(familyProgress, { ...WRITTEN.result, results, problem: null }, { scrubber }),
    );
  }
};

/**
 * Puts a paused job off. A pause that ended meanwhile did not find the job among the delayed ones, so it is asked for once
 * more. Never returns.
 */
const putOffPaused = async (taken: Taken, ms: number, isPaused: () => Promise<boolean>, now: number) => {
  await taken.job.moveToDelayed(now + ms, taken.token);
  // Where another worker has the job by now, it is due already.
  if (!(await isPaused())) await taken.job.promote().catch(() => undefined);
  throw new DelayedError();
};

/** Puts a job off that is paused and that this worker could not run: its patience does not count during a pause. */
const holdBackStrange = async (taken: Taken, { holdBack, profiles, clock }: FamilyDeps): Promise<void> => {
  const { data } = taken.job;
  const head = syncHead.safeParse(data).data;
  if (head === undefined || holdBack === undefined) return;
  if (!isForOthers(data) && profiles.some(({ profile }) => profile === head.profile)) return;
  const isPaused = async () => (await holdBack(head)) === "paused";
  if (await isPaused()) await putOffPaused(taken, HELD_BACK_MS.paused, isPaused, clock.now());
};

/** Puts the job off while its sync is held back. A sync whose time is over ends all the same. */
const putOffHeld = async (
  taken: Taken,
  sync: SyncPayload,
  leftMs: number,
  { holdBack, clock }: FamilyDeps,
): Promise<void> => {
  const held = leftMs <= 0 ? null : ((await holdBack?.(sync)) ?? null);
  if (held === null) return;
  const heldMs = Math.min(HELD_BACK_MS[held], leftMs);
  if (held === "behind") return putOff(taken, heldMs, clock.now());
  const isPaused = async () => (await holdBack?.(sync)) === "paused";
  return putOffPaused(taken, heldMs, isPaused, clock.now());
};

/** Runs a family's streams. The result includes the results of earlier workers that were stopped. */
export const processFamily = async (taken: Taken, deps: FamilyDeps): Promise<FamilyProgress> => {
  const { job, signal } = taken;
  const { clock, board } = deps;
  await holdBackStrange(taken, deps);
  const sync = await readPayload(familyPayload, taken, SYNC_PATIENCE_MS, deps);
  const profile = await knownProfile(taken, sync.profile, SYNC_PATIENCE_MS, deps);
  const { syncId } = sync;
  const family = familyNamed(sync.family);
  if (family === undefined) {
    throw unreadable(job.id ?? "", job.data, `, but ${sync.family} is no family`);
  }
  // A program of another version had it before, and kept what this one cannot read.
  if (isForOthers(job.progress)) return leaveUnread(taken, job.progress, SYNC_PATIENCE_MS, clock.now());
  const own = streamsOf(sync.family, sync);
  let results = resultsIn(job.progress);
  const keep = async (problem: Problem | null): Promise<FamilyProgress> => {
    const progress = scrubbed(familyProgress, { ...WRITTEN.result, results: [...results], problem }, deps);
    await job.updateProgress(progress);
    return progress;
  };
  const isCancelled = async () => signal.reason === ABORT.cancelled || (await board.isCancelled(syncId));

  const timeLeft = async () => timeLeftOf(await board.timesOf(syncId), profile.syncTimeoutMs);

  const run = async (): Promise<Fate> => {
    if (await isCancelled()) return fateAfter([], own, true);
    await putOffHeld(taken, sync, (await timeLeft()).leftMs ?? Number.POSITIVE_INFINITY, deps);
    if (!(await board.claim(syncId))) return leaveToOthers(taken, clock.now(), BUSY_MS);
    try {
      const readLeftMs = async () => (await timeLeft()).leftMs;
      const ask = { ...sync, ...(await timeLeft()), readLeftMs, profile, open: () => openOf(sync, deps) };
      results = joined(results, await family.run(ask, { sessions: deps.sessions, signal }));
    } catch (error) {
      if (isCode(error, "JOB_VERSION")) {
        await board.giveUp(syncId);
        return leaveUnread(taken, job.data, SYNC_PATIENCE_MS, clock.now());
      }
      // Another request may have extended the deadline while it waited for its turn.
      const isExtended = isCode(error, "DURATION_SPENT") && ((await timeLeft()).leftMs ?? 1) > 0;
      return isExtended ? { kind: "again", afterMs: HANDED_ON_MS } : fateOfError(error, await isCancelled());
    }
    return fateAfter(results, own, await isCancelled());
  };

  const fate = settles(results, own) ? fateAfter(results, own, false) : await run();
  switch (fate.kind) {
    case "end":
      return keep(fate.problem);
    case "fail":
      // The result contains the reason why its streams failed.
      await keep(settles(results, own) ? null : fate.problem);
      throw errorOf(fate.problem);
    case "again":
      if (results.length > 0) await keep(null);
      if (signal.reason === ABORT.stopping) await board.giveUp(syncId);
      return putOff(taken, fate.afterMs, clock.now());
    default:
      return fate satisfies never;
  }
};
