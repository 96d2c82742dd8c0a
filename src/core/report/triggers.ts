// Types of requests for syncs and verifications, and of their states. The queue implements them, with Redis or in one process; server,
// commands and schedules use them.
import type { ProgressEvent, SyncProgress } from "./sync-progress.ts";

export const REQUESTED_STATES = ["queued", "running", "done", "partial", "stopped", "failed", "cancelled"] as const;
export type RequestedState = (typeof REQUESTED_STATES)[number];

/** A requested sync or verification. */
export interface RequestedSync {
  readonly runId: string;
  readonly state: RequestedState;
  readonly profile: string;
  /** ms since the epoch. */
  readonly askedAt: number;
  /** The report, as printed by `sync --json` or `verify --json`; null until it has ended. */
  readonly report: unknown;
  /** Reason of its failure; null: none. */
  readonly error: { readonly code: string; readonly message: string; readonly hint: string } | null;
  /** Deadline set by its callers, ms since the epoch; null: none. Unset: it has ended. */
  readonly dueAt?: number | null;
  /** Progress of the present run, with its worker's last sign of life; null: no run. Unset: it has ended. */
  readonly progress?: SyncProgress | null;
  /**
   * It waits because its profile, the fleet or the queue of syncs is paused. Unset: it has ended, or nothing can be
   * paused.
   */
  readonly paused?: boolean;
}

export interface TriggerRequest {
  /** Empty: the configured streams. */
  readonly streams: readonly string[];
  readonly full: boolean;
  /** `stream` or `stream:scope`: read these lists anew, and nothing else. */
  readonly reset?: readonly string[] | undefined;
  /** Read what is dated after this day (`2026-11-01`), and nothing else. */
  readonly since?: string | undefined;
  /** null: the only profile. */
  readonly profile: string | null;
  /** Within a day, the same key means the same sync. */
  readonly idempotencyKey: string | null;
  /** W3C `traceparent` of the caller. */
  readonly traceparent?: string | null | undefined;
  /** A schedule is due. A running sync suffices, because the next tick follows anyway. */
  readonly scheduled?: boolean;
  /** Time limit of the sync, including waiting, ms; null or unset: none. */
  readonly timeoutMs?: number | null | undefined;
}

export interface Started {
  readonly runId: string;
  /** True when an already requested sync includes this one. */
  readonly joined: boolean;
}

export interface SyncTriggers {
  /**
   * Throws USAGE for a stream or list that does not exist, SINCE_UNSUPPORTED, PROFILE_UNKNOWN, IDEMPOTENCY_REUSED and,
   * where the queue is in Redis, REDIS_UNAVAILABLE.
   */
  start(ask: TriggerRequest): Promise<Started>;
  find(runId: string): Promise<RequestedSync | null>;
  /** Returns false when it is unknown or has ended. */
  cancel(runId: string): Promise<boolean>;
  /** Compares mirror and service for few credits; absent: not possible here. */
  verify?(ask: { readonly profile: string | null }): Promise<Started>;
  /** Queued and running work, for the page; absent: the page shows only what it started. */
  active?(): Promise<readonly RequestedSync[]>;
  /** Calls `listener` for the events of runs; returns a function that stops it. */
  listen?(listener: (event: ProgressEvent, run: { runId: string; profile: string }) => void): () => void;
}
