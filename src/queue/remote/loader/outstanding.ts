// Outstanding requests of a loader: queued for the fetchers and without a response. One that no fetcher has taken can be
// taken back.
//
//   pending, queued -(a fetcher sends it)-> pending -(response, or its end)-> ended
//   pending, queued -(taken back)-> ended, never sent
import type { Queue } from "bullmq";
import type { ApiOutcome } from "../../../api/outcome.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Sending } from "../../../sync/request/sender.ts";
import type { Mailbox } from "../mailbox.ts";
import { callOf, type RemoteRequest } from "../messages.ts";

/** Longest wait for Redis to take back a request that the run aborts, ms. */
const CANCEL_MS = 500;

/** A queued request without a response. */
export interface Pending {
  readonly request: RemoteRequest;
  /** ms since the epoch, this machine's clock. */
  readonly since: number;
  resolve(sending: Sending): void;
}

export interface Outstanding {
  readonly pending: Map<string, Pending>;
  /** Requests that have not been sent, as far as known. */
  readonly queued: Set<string>;
  /** Name of Redis's memory when each request was queued. */
  readonly memories: Map<string, string>;
}

interface TakingDeps {
  readonly clock: Clock;
  readonly queue: Pick<Queue, "remove">;
  readonly mailbox: Pick<Mailbox, "departed" | "memory">;
}

export const noneOutstanding = (): Outstanding => ({ pending: new Map(), queued: new Set(), memories: new Map() });

/** Drops a request that has its response, or its end. */
export const endRequest = ({ pending, queued, memories }: Outstanding, requestId: string): void => {
  pending.delete(requestId);
  queued.delete(requestId);
  memories.delete(requestId);
};

const brokenOff = (pending: Pending, reason: "aborted" | "reset", detail: string, now: number): ApiOutcome => ({
  kind: "broken",
  call: callOf(pending.request),
  sentAt: pending.since,
  durationMs: now - pending.since,
  reached: "unknown",
  status: null,
  reason,
  detail,
});

/** The request is lost; it may have cost a credit. */
export const vanished = (pending: Pending, now: number): Sending => ({
  kind: "outcome",
  outcome: brokenOff(pending, "reset", "Redis lost the request on its way", now),
  lostAttempts: 0,
});

/**
 * True when the request was certainly not sent and never will be. BullMQ also answers 1 for a job that Redis lost,
 * which may have been sent; so Redis must still have the memory from when the request was queued.
 */
const isTakenBack = async (
  { memories }: Outstanding,
  { queue, mailbox }: TakingDeps,
  requestId: string,
): Promise<boolean> => {
  const queuedIn = memories.get(requestId);
  if (queuedIn === undefined || (await queue.remove(requestId)) !== 1) return false;
  const departed = await mailbox.departed([requestId]);
  return !departed.has(requestId) && (await mailbox.memory()) === queuedIn;
};

/** The run is ending: takes back requests that no fetcher has taken, instead of waiting for them. */
export const takeBack = async (outstanding: Outstanding, deps: TakingDeps): Promise<void> => {
  for (const requestId of [...outstanding.queued]) {
    // While Redis is away the request stays in flight and is aborted in the end.
    const unsent = await isTakenBack(outstanding, deps, requestId).catch(() => false);
    if (unsent) outstanding.pending.get(requestId)?.resolve({ kind: "unsent" });
  }
};

/** The run aborts its requests; one that is still queued is taken back. `ended`: the loader ends. */
export const cancel = async (
  outstanding: Outstanding,
  deps: TakingDeps,
  waiting: Pending,
  ended: AbortSignal,
): Promise<void> => {
  const { clock } = deps;
  const late = clock.sleep(CANCEL_MS, ended).then(
    () => false,
    () => false,
  );
  const taken = isTakenBack(outstanding, deps, waiting.request.requestId).catch(() => false);
  if (await Promise.race([taken, late])) return waiting.resolve({ kind: "unsent" });
  const outcome = brokenOff(waiting, "aborted", "aborted", clock.now());
  waiting.resolve({ kind: "outcome", outcome, lostAttempts: 0 });
};
