// Starts, finds and cancels syncs of the local worker.
import type { Clock } from "../../../core/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import { problemOf } from "../../../core/report/problem.ts";
import type { SyncProgress } from "../../../core/report/sync-progress.ts";
import type { AskedSync, SyncAsk } from "../../../core/report/triggers.ts";
import { endedState, laterOf, payloadOf, profileOf, type Triggers } from "../../asking/asks.ts";
import { findStored } from "../../asking/failures.ts";
import { LATE, shownState, step } from "../sync-life.ts";
import type { Carrier } from "./carry-out.ts";
import { type Entry, hasEnded, type KnownSyncs, timeLeft } from "./known-syncs.ts";

// Runs the syncs of a profile one after another, and ends one whose deadline passes while it waits.

export const createOrder = (
  { carryOut, endWith }: Carrier,
  { clock, stopping }: { readonly clock: Clock; readonly stopping: AbortSignal },
) => {
  /** The last sync of each profile; the next one waits for it. */
  const tails = new Map<string | null, Promise<void>>();

  /** A sync that still waits at its deadline never starts; a running one is ended by its session. */
  const watchDeadline = async (entry: Entry): Promise<void> => {
    while (entry.dueAt !== null && entry.life === "waiting" && !stopping.aborted) {
      if (entry.cancel.signal.aborted) return;
      const leftMs = entry.dueAt - clock.now();
      if (leftMs <= 0) return endWith(entry, LATE);
      await clock.sleep(leftMs, stopping).catch(() => undefined);
    }
  };

  return {
    add: (entry: Entry): void => {
      const { profile } = entry.config;
      const before = tails.get(profile) ?? Promise.resolve();
      // A fault of duckmirror ends this sync, but not later ones.
      const mine = before.then(() => carryOut(entry)).catch((error: unknown) => endWith(entry, problemOf(error)));
      void watchDeadline(entry);
      tails.set(profile, mine);
    },
    /** Resolves when every sync has ended. */
    allEnded: () => Promise.all(tails.values()),
  };
};

interface TriggerDeps {
  readonly profiles: readonly Config[];
  readonly clock: Clock;
  readonly random: () => number;
  readonly known: KnownSyncs;
  readonly order: Pick<ReturnType<typeof createOrder>, "add">;
  /** Progress of the syncs that run now. */
  readonly book: { all(): ReadonlyMap<string, SyncProgress> };
  readonly stopping: AbortSignal;
}

const describeEntry = (entry: Entry, { clock, book }: Pick<TriggerDeps, "clock" | "book">): AskedSync => {
  const { sync, life, outcome, cancel } = entry;
  const base = { runId: sync.syncId, profile: sync.profile, askedAt: sync.askedAt };
  if (outcome === null) {
    const shown = life === "waiting" && cancel.signal.aborted ? step(life, "cancel") : life;
    const { leftMs } = timeLeft(entry, clock.now());
    const dueAt = leftMs === null ? null : clock.now() + leftMs;
    const progress = book.all().get(sync.syncId) ?? null;
    return { ...base, state: shownState(shown), report: null, error: null, dueAt, progress };
  }
  const { report, problem } = outcome;
  return { ...base, state: endedState(report.status), report, error: problem };
};

export const createLocalTriggers = (deps: TriggerDeps): Triggers => {
  const { profiles, clock, random, known, order, stopping } = deps;
  const start = async (ask: SyncAsk) => {
    const config = profileOf(profiles, ask.profile);
    const sync = payloadOf(ask, config, clock.now(), random);
    known.dropOld();
    const earlier = known.runOfKey(ask, config.profile);
    if (earlier !== null) return { runId: earlier, joined: true };
    const joined = known.joinedBy(ask, sync);
    const runId = joined?.sync.syncId ?? sync.syncId;
    known.keepKey(ask, config.profile, runId);
    const dueAt = typeof ask.timeoutMs === "number" ? clock.now() + ask.timeoutMs : null;
    if (joined?.life === "waiting") joined.dueAt = laterOf(joined.dueAt, dueAt);
    if (joined !== undefined) return { runId, joined: true };
    if (stopping.aborted) throw new DuckmirrorError("INTERRUPTED");
    const life = step("asked", "queue");
    const entry: Entry = { sync, config, cancel: new AbortController(), life, dueAt, startedAt: null, outcome: null };
    known.add(entry);
    order.add(entry);
    return { runId, joined: false };
  };
  return {
    start,
    find: async (runId) => {
      const entry = known.get(runId);
      return entry === undefined ? findStored(profiles, runId) : describeEntry(entry, deps);
    },
    cancel: async (runId) => {
      const entry = known.get(runId);
      if (entry === undefined || hasEnded(entry)) return false;
      entry.cancel.abort(new DuckmirrorError("INTERRUPTED"));
      return true;
    },
    active: async () =>
      known
        .all()
        .filter((entry) => !hasEnded(entry))
        .map((entry) => describeEntry(entry, deps)),
  };
};
