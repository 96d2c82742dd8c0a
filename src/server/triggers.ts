// What starts work, as the server sees it: the worker implements it on BullMQ or in its own process.
import type { ProgressEvent } from "../core/progress-events.ts";
import type { SyncProgress } from "../core/sync-progress.ts";

export const TRIGGERED_STATES = ["queued", "running", "done", "partial", "stopped", "failed", "cancelled"] as const;
export type TriggeredState = (typeof TRIGGERED_STATES)[number];

/** A sync or verification that was asked for. */
export interface TriggeredRun {
  readonly runId: string;
  readonly state: TriggeredState;
  readonly profile: string;
  /** ms since the epoch. */
  readonly askedAt: number;
  /** The report, as `sync --json` or `verify --json` prints it; null until it ended. */
  readonly report: unknown;
  /** Why it failed; null where it did not. */
  readonly error: { readonly code: string; readonly message: string; readonly hint: string } | null;
  /** When it is ended at the latest, ms since the epoch; null: nobody said. Unset: it has ended. */
  readonly dueAt?: number | null;
  /** How far the run under way is, and the last sign of life of its worker; null: none is. Unset: it has ended. */
  readonly progress?: SyncProgress | null;
}

export interface SyncAsk {
  /** Empty: those of the configuration. */
  readonly streams: readonly string[];
  readonly full: boolean;
  /** null: the only or first one. */
  readonly profile: string | null;
  /** The same key within a day means the same run. */
  readonly idempotencyKey: string | null;
  /** W3C `traceparent` of whoever asked. */
  readonly traceparent?: string | null | undefined;
  /** The sync ends after this time, waiting included, ms; null: as long as it takes. */
  readonly timeoutMs?: number | null;
}

export interface Started {
  readonly runId: string;
  /** True when a run that was under way already takes it along. */
  readonly joined: boolean;
}

export interface SyncTriggers {
  /** Throws USAGE for a stream or profile that does not exist. */
  start(ask: SyncAsk): Promise<Started>;
  find(runId: string): Promise<TriggeredRun | null>;
  /** False when it is unknown or over. */
  cancel(runId: string): Promise<boolean>;
  /** Compares mirror and service at few credits; absent: this server cannot. */
  verify?(ask: { readonly profile: string | null }): Promise<Started>;
  /** Runs queued or under way, for the page; absent: only those that were started from it are shown. */
  active?(): Promise<readonly TriggeredRun[]>;
  /** Calls `listener` with what runs tell while they run; answers with a function that ends it. */
  listen?(listener: (event: ProgressEvent, run: { runId: string; profile: string }) => void): () => void;
}
