// A sync that the local worker was asked for, from the ask to its end.

import type { SyncOutcome } from "../../../../jobs/publish.ts";
import type { Config } from "../../../core/config/config.ts";
import type { SyncPayload } from "../../asking/payloads.ts";
import { type Life, timeLeftOf } from "../sync-life.ts";

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
