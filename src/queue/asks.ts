// What is asked for, and what an ask becomes: the same with Redis and without. The shape of triggers is that of
// src/server/triggers.ts, which this layer may not import. PURE.
import { createHash } from "node:crypto";
import type { BaseAdapter } from "@bull-board/api/baseAdapter";
import { familiesOf } from "../../jobs/families.ts";
import type { Problem } from "../../jobs/family.ts";
import { isStreamName, STREAM_NAMES } from "../catalog/streams.ts";
import type { Config } from "../core/config/config.ts";
import { didYouMean } from "../core/did-you-mean.ts";
import { DuckmirrorError, ERRORS } from "../core/errors.ts";
import type { SyncProgress } from "../core/sync-progress.ts";
import type { RunStatus } from "../core/sync-report.ts";
import { newRunId } from "../sync/run/run-sync.ts";
import { type SyncPayload, WRITTEN } from "./payloads.ts";

export interface SyncAsk {
  /** Empty: those of the configuration. */
  readonly streams: readonly string[];
  readonly full: boolean;
  /** null: the only or first one. */
  readonly profile: string | null;
  /** The same key within a day means the same sync. */
  readonly idempotencyKey: string | null;
  /** W3C `traceparent` of whoever asked. */
  readonly traceparent?: string | null | undefined;
  /** A schedule fell due: a sync that runs already will do, since the next tick comes anyway. */
  readonly scheduled?: boolean;
  /** The sync ends after this time, waiting included, ms; null or unset: as long as it takes. */
  readonly timeoutMs?: number | null | undefined;
}

export interface Started {
  readonly runId: string;
  /** True when a sync that was asked for already takes it along. */
  readonly joined: boolean;
}

export type AskedState = "queued" | "running" | "done" | "partial" | "stopped" | "failed" | "cancelled";

/** A sync that was asked for. */
export interface AskedSync {
  readonly runId: string;
  readonly state: AskedState;
  readonly profile: string;
  /** ms since the epoch. */
  readonly askedAt: number;
  /** The report, as `sync --json` prints it; null until it ended. */
  readonly report: unknown;
  /** Why it did not do all it set out to do; null: it did, or is under way. */
  readonly error: Problem | null;
  /** When those who asked for it want it to end, ms since the epoch; null: they did not say. Unset: it has ended. */
  readonly dueAt?: number | null;
  /** Of the run that is under way; null: none is. Unset: it has ended. */
  readonly progress?: SyncProgress | null;
}

export interface Triggers {
  /** Throws USAGE, PROFILE_UNKNOWN, IDEMPOTENCY_REUSED and, where the queue is in Redis, REDIS_UNAVAILABLE. */
  start(ask: SyncAsk): Promise<Started>;
  find(runId: string): Promise<AskedSync | null>;
  /** False when it is unknown or over. */
  cancel(runId: string): Promise<boolean>;
  /** Compares the mirror with the service; absent where asking does not start any. */
  verify?(ask: { readonly profile: string | null }): Promise<Started>;
  /** Syncs queued or under way. */
  active(): Promise<readonly AskedSync[]>;
}

/** A worker, with Redis or without. */
export interface RunningWorker {
  readonly triggers: Triggers;
  /** State -> jobs in it, over all queues; absent without Redis. */
  readonly depths?: () => Promise<Readonly<Record<string, number>>>;
  /** Its queues for a page that shows them; absent without Redis. */
  readonly board?: () => Promise<readonly BaseAdapter[]>;
  /** Takes no further work, ends runs at their next checkpoint, closes; by force when that takes too long. */
  stop(): Promise<void>;
}

/** A key is remembered so long, s. */
export const KEY_LASTS_S = 86_400;

/** The profile an ask means. Throws PROFILE_UNKNOWN. */
export const profileOf = (profiles: readonly Config[], name: string | null): Config => {
  const found = name === null ? profiles[0] : profiles.find(({ profile }) => profile === name);
  if (found !== undefined) return found;
  const names = profiles.map(({ profile }) => profile);
  throw new DuckmirrorError("PROFILE_UNKNOWN", {
    which: `the profiles ${names.join(", ")}`,
    detail: `"${name ?? ""}" is not one of them.${didYouMean(name ?? "", names)}`,
  });
};

/** What an ask means, as it is queued. Throws USAGE for a stream that does not exist. */
export const payloadOf = (ask: SyncAsk, config: Config, now: number, random: () => number): SyncPayload => {
  const unknown = ask.streams.find((name) => !isStreamName(name));
  if (unknown !== undefined) {
    throw new DuckmirrorError("USAGE", {
      detail: `${unknown} is not a stream.${didYouMean(unknown, STREAM_NAMES)}`,
    });
  }
  const wanted = ask.streams.length > 0 ? ask.streams : (config.streams ?? STREAM_NAMES);
  const streams = STREAM_NAMES.filter((name) => wanted.includes(name));
  return {
    ...WRITTEN,
    syncId: newRunId(now, random),
    profile: config.profile,
    streams,
    families: familiesOf(streams).map(({ family }) => family),
    full: ask.full,
    named: ask.streams.length > 0,
    askedAt: now,
    ...(typeof ask.traceparent === "string" ? { traceparent: ask.traceparent } : {}),
  };
};

type Extent = Pick<SyncPayload, "streams" | "full">;

/**
 * True when an ask may join this sync: it does all that was asked, and has not started, because a run that has may have
 * read its lists before the change that somebody asks for.
 */
export const joins = (ask: SyncAsk, wanted: Extent, sync: Extent & { readonly started: boolean }): boolean =>
  covers(sync, wanted) && (!sync.started || ask.scheduled === true);

/** The deadline of a sync that one more asks for: whoever gives it most time decides. null: none. */
export const laterOf = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : Math.max(one, other);

/** True when a sync does all that another one would. */
const covers = (sync: Extent, other: Extent): boolean =>
  (sync.full || !other.full) && other.streams.every((stream) => sync.streams.includes(stream));

/** A key of any length and content as part of a name. */
export const keyDigest = (key: string): string => createHash("sha256").update(key).digest("hex").slice(0, 32);

/** What an idempotency key stands for: the same key with another digest is a mistake of the caller. */
export const askDigest = ({ streams, full }: Pick<SyncAsk, "streams" | "full">): string =>
  keyDigest(JSON.stringify([[...new Set(streams)].sort(), full]));

/** State of a sync that has ended. */
export const endedState = (status: RunStatus): AskedState => (status === "interrupted" ? "cancelled" : status);

/** The error of a stored failure. */
export const errorOf = (problem: Problem): DuckmirrorError => {
  const code = Object.keys(ERRORS).find((known): known is keyof typeof ERRORS => known === problem.code);
  return new ToldError(code ?? "UNEXPECTED", problem);
};

/** Words of another process: its message was filled in there. */
class ToldError extends DuckmirrorError {
  override readonly hint: string;

  constructor(code: keyof typeof ERRORS, { message, hint }: Problem) {
    super(code, { detail: message });
    this.message = message;
    this.hint = hint;
  }
}
