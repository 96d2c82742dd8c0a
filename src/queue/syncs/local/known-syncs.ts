// Syncs that the local worker was asked for: those under way, the last ended ones, and the keys of their callers.

import type { SyncOutcome } from "../../../../jobs/publish.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import type { SyncAsk } from "../../../core/report/triggers.ts";
import { askDigest, joins, KEY_LASTS_S } from "../../asking/asks.ts";
import type { SyncPayload } from "../../asking/payloads.ts";
import { type Life, timeLeftOf } from "../sync-life.ts";

// A sync that the local worker was asked for, from the ask to its end.

export interface Entry {
  readonly sync: SyncPayload;
  readonly config: Config;
  readonly cancel: AbortController;
  /** See sync-life.ts. */
  life: Life;
  /** Deadline set by its callers, ms since the epoch; null: none. */
  dueAt: number | null;
  /** Start of its run, ms since the epoch. */
  startedAt: number | null;
  outcome: SyncOutcome | null;
}

export const hasEnded = ({ outcome }: Entry): boolean => outcome !== null;

/** What is left of its time at `now`, by its deadline and the profile's `sync_timeout`. */
export const timeLeft = ({ config, startedAt, dueAt }: Entry, now: number) =>
  timeLeftOf({ now, startedAt, dueAt }, config.syncTimeoutMs);

/** Number of ended syncs kept in memory; older ones are read from the mirror. */
const REMEMBERED = 1_000;

const keyOf = ({ idempotencyKey }: SyncAsk, profile: string | null): string | null =>
  idempotencyKey === null ? null : JSON.stringify([profile, idempotencyKey]);

export const createKnownSyncs = ({ now }: Pick<Clock, "now">) => {
  const entries = new Map<string, Entry>();
  const asked = new Map<string, { readonly runId: string; readonly digest: string; readonly until: number }>();
  const all = (): readonly Entry[] => [...entries.values()];
  return {
    all,
    get: (runId: string): Entry | undefined => entries.get(runId),
    add: (entry: Entry): void => void entries.set(entry.sync.syncId, entry),
    /** Drops the oldest ended syncs, and keys that lasted long enough. */
    dropOld: (): void => {
      const ended = [...entries].filter(([, entry]) => hasEnded(entry)).map(([id]) => id);
      for (const id of ended.slice(0, Math.max(0, ended.length - REMEMBERED))) entries.delete(id);
      for (const [key, { until }] of asked) if (until <= now()) asked.delete(key);
    },
    /**
     * The run that an earlier ask with this key got; null: none. Throws IDEMPOTENCY_REUSED if it asked for something
     * else.
     */
    runOfKey: (ask: SyncAsk, profile: string | null): string | null => {
      const key = keyOf(ask, profile);
      const earlier = key === null ? undefined : asked.get(key);
      if (earlier === undefined) return null;
      if (earlier.digest !== askDigest(ask)) throw new DuckmirrorError("IDEMPOTENCY_REUSED", { run: earlier.runId });
      return earlier.runId;
    },
    keepKey: (ask: SyncAsk, profile: string | null, runId: string): void => {
      const key = keyOf(ask, profile);
      if (key !== null) asked.set(key, { runId, digest: askDigest(ask), until: now() + KEY_LASTS_S * 1000 });
    },
    /** A sync under way that does what is asked for. */
    joinedBy: (ask: SyncAsk, sync: SyncPayload): Entry | undefined =>
      all().find(
        (entry) =>
          !hasEnded(entry) &&
          entry.sync.profile === sync.profile &&
          !entry.cancel.signal.aborted &&
          joins(ask, sync, { ...entry.sync, started: entry.life !== "waiting" }),
      ),
  };
};

export type KnownSyncs = ReturnType<typeof createKnownSyncs>;
