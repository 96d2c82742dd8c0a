// Requests for a sync (from `trigger`, the API or an assistant), with Redis and without: what a request may ask for, whether it may join
// a sync that waits already, its idempotency key, and the states and errors that its caller reads. PURE.
import { createHash } from "node:crypto";
import { checkedExtent } from "../../../jobs/requested-extent.ts";
import { STREAM_NAMES } from "../../catalog/streams.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, ERRORS } from "../../core/errors.ts";
import type { Fleet } from "../../core/report/fleet.ts";
import type { Problem } from "../../core/report/problem.ts";
import type { RunStatus } from "../../core/report/sync-report.ts";
import type {
  RequestedState,
  RequestedSync,
  Started,
  SyncTriggers,
  TriggerRequest,
} from "../../core/report/triggers.ts";
import { didYouMean } from "../../core/text/did-you-mean.ts";
import { newRunId } from "../../core/text/run-id.ts";
import { timeMs } from "../../core/time.ts";
import { inSpan, noTracer, type Tracer } from "../../core/tracing.ts";
import { SYNC_WRITTEN, type SyncPayload } from "./job-payloads.ts";

// Adds a trace span to each request for a sync; the spans of its later work belong to it. The engine and the jobs at the end of a
// sync have their own spans (src/sync/request/tracing.ts, job-consumers.ts).

/** Triggers with a span around each request. */
export const tracedTriggers = <T extends Pick<Triggers, "start">>(triggers: T, tracer: Tracer = noTracer): T => ({
  ...triggers,
  start: (ask) =>
    inSpan(
      tracer,
      "trigger",
      async (span) => {
        const traceparent = span.traceparent ?? ask.traceparent;
        const started = await triggers.start({ ...ask, traceparent });
        span.set({ "duckmirror.run.id": started.runId, "duckmirror.joined": started.joined });
        return started;
      },
      { kind: "producer", traceparent: ask.traceparent, attributes: { "duckmirror.profile": ask.profile } },
    ),
});

// The extent of a queued sync: the lists it reads, and whether it covers another request. Pure.

/** All that is due of its streams; or lists to read anew; or what is dated after a day. */
export type SyncExtent = Pick<SyncPayload, "streams" | "full" | "reset" | "datedAfter">;

const kindOf = ({ reset, datedAfter }: SyncExtent): "due" | "reset" | "dated" => {
  if (reset !== undefined) return "reset";
  return datedAfter === undefined ? "due" : "dated";
};

/** A list is read anew by a sync that names it, or its whole stream. */
const readsAnew = ({ reset = [] }: SyncExtent, list: string): boolean =>
  reset.includes(list) || reset.includes(list.split(":")[0] ?? list);

const dayOf = ({ datedAfter }: SyncExtent): number => timeMs(datedAfter ?? "") ?? Number.POSITIVE_INFINITY;

/**
 * True when a sync covers another one. Only one of the same kind does: a sync of what is due may not read a list from its
 * start, and one of certain lists reads nothing else.
 */
export const covers = (sync: SyncExtent, other: SyncExtent): boolean => {
  if (kindOf(sync) !== kindOf(other) || (!sync.full && other.full)) return false;
  if (other.reset !== undefined) return other.reset.every((list) => readsAnew(sync, list));
  const reachesBack = kindOf(other) === "due" || dayOf(sync) <= dayOf(other);
  return reachesBack && other.streams.every((stream) => sync.streams.includes(stream));
};

/** A sync that was requested for a profile; null: the only one of the worker. */
export interface ProfileStart extends Started {
  readonly profile: string | null;
}

/** Profiles whose syncs are requested at once, when all are. */
export const STARTS_AT_ONCE = 50;

/** The interface of every worker. */
export interface Triggers extends SyncTriggers {
  /** Queued and running syncs; also one that is over while its jobs wait for a worker, with the state in which it ends. */
  active(): Promise<readonly RequestedSync[]>;
}

/** A worker, with Redis or without. */
export interface RunningWorker {
  readonly triggers: Triggers;
  /** Queues, members and pauses; absent without Redis. */
  readonly fleet?: () => Promise<Fleet>;
  /** Takes no more work, ends runs at their next checkpoint, and closes; by force after a time limit. */
  stop(): Promise<void>;
}

/** Lifetime of an idempotency key, s. */
export const KEY_LASTS_S = 86_400;

/** The profile of a request. Throws PROFILE_UNKNOWN, also if there are several and none is named. */
export const profileOf = (profiles: readonly Config[], name: string | null): Config => {
  const [only] = profiles;
  if (name === null && only !== undefined && profiles.length === 1) return only;
  const found = profiles.find(({ profile }) => profile === name);
  if (found !== undefined) return found;
  const names = profiles.map(({ profile }) => profile);
  throw new DuckmirrorError("PROFILE_UNKNOWN", {
    which: `the profiles ${names.join(", ")}`,
    detail: name === null ? "none was named" : `"${name}" is not one of them.${didYouMean(name, names)}`,
  });
};

/** The payload of a request. Throws USAGE for a stream or list that does not exist, SINCE_UNSUPPORTED. */
export const payloadOf = (ask: TriggerRequest, config: Config, now: number, random: () => number): SyncPayload => {
  const extent = checkedExtent(config, ask);
  const wanted = extent.streams.length > 0 ? extent.streams : (config.streams ?? STREAM_NAMES);
  const streams = STREAM_NAMES.filter((name) => wanted.includes(name));
  return {
    ...SYNC_WRITTEN,
    syncId: newRunId(now, random),
    profile: config.profile,
    streams,
    full: ask.full,
    ...(extent.reset.length > 0 ? { reset: [...new Set(ask.reset)] } : {}),
    ...(ask.since === undefined ? {} : { datedAfter: ask.since }),
    named: extent.streams.length > 0,
    askedAt: now,
    ...(typeof ask.traceparent === "string" ? { traceparent: ask.traceparent } : {}),
  };
};

/**
 * True when a request may join this sync: the sync covers it and has not started. A started run may have read its
 * lists before the change that the request is about.
 */
export const mayJoin = (
  ask: TriggerRequest,
  wanted: SyncExtent,
  sync: SyncExtent & { readonly started: boolean },
): boolean => covers(sync, wanted) && (!sync.started || ask.scheduled === true);

/** Deadline of a sync after another request joins: the later of the two. null: none. */
export const laterDeadline = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : Math.max(one, other);

/** A key of any length and content in a form for names. */
export const keyDigest = (key: string): string => createHash("sha256").update(key).digest("hex").slice(0, 32);

const sorted = (names: readonly string[]): readonly string[] => [...new Set(names)].sort();

/** Digest of the request behind an idempotency key. The same key with another digest is a mistake of the caller. */
export const requestDigest = (
  ask: Pick<TriggerRequest, "streams" | "full" | "timeoutMs" | "reset" | "since">,
): string => {
  const { streams, full, timeoutMs = null, reset = [], since = null } = ask;
  return keyDigest(JSON.stringify([sorted(streams), full, timeoutMs, sorted(reset), since]));
};

/** State of an ended sync. */
export const endedState = (status: RunStatus): RequestedState => (status === "interrupted" ? "cancelled" : status);

/** An error of another process or of a stored result, with its message already filled in. */
export class StoredError extends DuckmirrorError {
  override readonly hint: string;

  constructor(code: keyof typeof ERRORS, { message, hint }: Problem) {
    super(code, { detail: message });
    this.message = message;
    this.hint = hint;
  }
}

/** The error of a stored failure. */
export const errorOf = (problem: Problem): DuckmirrorError => {
  const code = Object.keys(ERRORS).find((known): known is keyof typeof ERRORS => known === problem.code);
  return new StoredError(code ?? "UNEXPECTED", problem);
};
