// Sender of a loader: each request becomes a job for the fetchers, and its response comes back through the mailbox. A
// rate slot is taken just before a request is queued; the next request waits until this one was sent.
import type { Queue } from "bullmq";
import type { ApiOutcome, Quota } from "../../../api/outcome.ts";
import type { ReadingOptions } from "../../../api/wire-answer.ts";
import type { OrganizationLedger } from "../../../budget/credits/organization-ledger.ts";
import type { Throttle } from "../../../budget/rate/throttle.ts";
import type { Clock } from "../../../core/clock.ts";
import { DuckmirrorError, detailOf } from "../../../core/errors.ts";
import { untilAborted } from "../../../core/until-aborted.ts";
import { knownTurnAt, type Parcel, type SendEnds, type Sender, type Sending } from "../../../sync/request/sender.ts";
import { WRITTEN } from "../../payloads.ts";
import { type Mailbox, MOST_SLOT_AGE_MS } from "../mailbox.ts";
import { callOf, type FetchPayload, type RemoteRequest, requestOf, signedJob } from "../messages.ts";
import { PASSING_JOB } from "../names.ts";
import { type Packed, unpackAnswer } from "../packed-answer.ts";
import { patiently } from "../patience.ts";
import type { Seals } from "../seals.ts";
import type { StoreClock } from "../store-clock.ts";

/** Intervals for checking whether a queued request was sent, ms; short at first. */
const FIRST_LOOK_MS = 4;
const LONGEST_LOOK_MS = 250;
/** Time for which Redis may be away before a request counts as unsendable. */
const REDIS_PATIENCE_MS = 60_000;
const CANCEL_MS = 500;

/** A queued request without a response. */
export interface Pending {
  readonly request: RemoteRequest;
  /** ms since the epoch, this machine's clock. */
  readonly since: number;
  resolve(sending: Sending): void;
}

export interface RemoteSenderDeps {
  readonly clock: Clock;
  readonly storeClock: StoreClock;
  readonly throttle: Throttle;
  readonly ledger: OrganizationLedger;
  /** The queue `fetch`. */
  readonly queue: Queue;
  readonly mailbox: Mailbox;
  readonly reading: ReadingOptions;
  /** Common parts of this loader's jobs. */
  readonly sender: Pick<FetchPayload, "profile" | "mirror" | "epoch">;
  readonly organization: string;
  readonly seals: Seals;
  /** Address of Redis, for messages. */
  readonly address: string;
}

export interface RemoteSender extends Sender {
  /**
   * Passes a response to its waiting request. `taken`: it is durable here. `left`: the run ended before that.
   * `unwanted`: no request waits for it.
   */
  deliver(packed: Packed): Promise<"taken" | "left" | "unwanted">;
  /** Requests without a response. */
  pending(): ReadonlyMap<string, Pending>;
  /** No further response will come: informs all waiting requests and ends all waits. */
  end(): void;
}

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

export const createRemoteSender = (deps: RemoteSenderDeps): RemoteSender => {
  const { clock, storeClock, throttle, ledger, queue, mailbox, reading, sender, organization, seals, address } = deps;
  const beganAt = clock.now();
  const pending = new Map<string, Pending>();
  /** Queued requests that have not been sent, as far as known. */
  const queued = new Set<string>();
  /** Name of Redis's memory when each request was queued. */
  const memories = new Map<string, string>();
  /** Times of unused slots, by Redis's clock. */
  let slots: readonly number[] = [];
  /** Delivered responses that are not durable yet. */
  const undurable = new Set<() => void>();
  /** Signals of runs whose end takes queued requests back. */
  const heeded = new WeakSet<AbortSignal>();
  const ended = new AbortController();
  let turns: Promise<unknown> = Promise.resolve();

  const unavailable = (error: unknown) =>
    new DuckmirrorError("REDIS_UNAVAILABLE", { address, detail: detailOf(error) }, { cause: error });

  /**
   * True when the request was certainly not sent and never will be. BullMQ also answers 1 for a job that Redis lost,
   * which may have been sent; so Redis must still have the memory from when the request was queued.
   */
  const isTakenBack = async (requestId: string): Promise<boolean> => {
    const queuedIn = memories.get(requestId);
    if (queuedIn === undefined || (await queue.remove(requestId)) !== 1) return false;
    const departed = await mailbox.departed([requestId]);
    return !departed.has(requestId) && (await mailbox.memory()) === queuedIn;
  };

  /** The run is ending: takes back requests that no fetcher has taken, instead of waiting for them. */
  const takeBack = async (): Promise<void> => {
    for (const requestId of [...queued]) {
      // While Redis is away the request stays in flight and is aborted in the end.
      const unsent = await isTakenBack(requestId).catch(() => false);
      if (unsent) pending.get(requestId)?.resolve({ kind: "unsent" });
    }
  };

  const heed = (signal: AbortSignal) => {
    if (heeded.has(signal)) return;
    heeded.add(signal);
    signal.addEventListener("abort", () => void takeBack(), { once: true });
  };

  const untilLeft = async (signal: AbortSignal): Promise<void> => {
    for (let lookMs = FIRST_LOOK_MS; queued.size > 0; lookMs = Math.min(2 * lookMs, LONGEST_LOOK_MS)) {
      await clock.sleep(lookMs, signal);
      // While Redis is away nothing is sent, so the check continues until the turn is abandoned.
      const left = await untilAborted(mailbox.departed([...queued]), signal).catch(() => new Set<string>());
      for (const requestId of left) queued.delete(requestId);
    }
  };

  const turn = async (signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    heed(signal);
    const either = AbortSignal.any([signal, ended.signal]);
    await untilLeft(either);
    await throttle.acquire(either);
    slots = [...slots, storeClock.now()];
  };

  /** The latest unused slot; without one, the fetcher takes its own. */
  const takeSlot = (): number => {
    const now = storeClock.now();
    const [first = 0, ...rest] = slots.filter((at) => now - at < MOST_SLOT_AGE_MS);
    slots = rest;
    return first;
  };

  const settled = (requestId: string) => {
    pending.delete(requestId);
    queued.delete(requestId);
    memories.delete(requestId);
  };

  /** The run aborts its requests; one that is still queued is taken back. */
  const cancel = async (waiting: Pending): Promise<void> => {
    const { requestId } = waiting.request;
    const late = clock.sleep(CANCEL_MS, ended.signal).then(
      () => false,
      () => false,
    );
    const unsent = await Promise.race([isTakenBack(requestId).catch(() => false), late]);
    if (unsent) return waiting.resolve({ kind: "unsent" });
    const outcome = brokenOff(waiting, "aborted", "aborted", clock.now());
    waiting.resolve({ kind: "outcome", outcome, lostAttempts: 0 });
  };

  const send = (parcel: Parcel, { signal, hardSignal }: SendEnds): Promise<Sending> =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve({ kind: "unsent" });
      const request = requestOf(parcel);
      const { requestId } = request;
      const onAbort = () => void cancel(waiting);
      const waiting: Pending = {
        request,
        since: clock.now(),
        resolve: (sending) => {
          hardSignal.removeEventListener("abort", onAbort);
          settled(requestId);
          resolve(sending);
        },
      };
      pending.set(requestId, waiting);
      queued.add(requestId);
      hardSignal.addEventListener("abort", onAbort, { once: true });
      if (hardSignal.aborted) return onAbort();
      const { traceparent } = parcel;
      const traced = typeof traceparent === "string" ? { traceparent } : {};
      const runBeganAt = beganAt + storeClock.skewMs();
      const payload: FetchPayload = {
        ...WRITTEN.request,
        ...sender,
        runBeganAt,
        slotAt: takeSlot(),
        ...traced,
        request,
      };
      let mayBeQueued = false;
      const add = async () => {
        // The job may exist already, or even be answered, if only the reply was lost; then the first memory counts.
        const memory = await mailbox.memory();
        if (memory !== null && !memories.has(requestId)) memories.set(requestId, memory);
        if (!pending.has(requestId)) return;
        mayBeQueued = true;
        await queue.add("request", signedJob(seals, organization, payload), { ...PASSING_JOB, jobId: requestId });
      };
      const added = patiently(add, { clock, forMs: REDIS_PATIENCE_MS, signal });
      untilAborted(added, signal).catch((error: unknown) => {
        // A request that may be queued may also have been sent; at the end of the run it is taken back if it was not.
        if (!mayBeQueued)
          waiting.resolve(signal.aborted ? { kind: "unsent" } : { kind: "denied", error: unavailable(error) });
        else if (signal.aborted) void cancel(waiting);
        else waiting.resolve(vanished(waiting, clock.now()));
      });
    });

  /** Figures for all processes. If Redis is away, the next response brings them again. */
  const report = (quota: Quota | null, sentAt: number, settled: boolean): void => {
    if (quota !== null) ledger.observe(quota, sentAt, settled).catch(() => undefined);
  };

  return {
    turn: (signal) => {
      const mine = turns.catch(() => undefined).then(() => turn(signal));
      turns = mine;
      return mine;
    },
    nextTurnAt: () => knownTurnAt(throttle.state()),
    backOff: (untilMs) => void throttle.backOff(untilMs),
    observe: (rate, trip) => void throttle.observe(rate, pending.size, trip),
    send,
    pending: () => pending,
    deliver: async (packed) => {
      const { request, nth } = packed.note;
      const waiting = pending.get(request.requestId);
      if (waiting === undefined) return "unwanted";
      settled(request.requestId);
      const unpacked = await unpackAnswer(packed, storeClock.skewMs(), reading);
      if (unpacked.kind === "denied") {
        waiting.resolve({ kind: "denied", error: unpacked.error });
        return "taken";
      }
      const { outcome } = unpacked;
      if (outcome.kind === "ok" || outcome.kind === "refused") {
        const charged = outcome.kind === "ok";
        report(outcome.usage, outcome.sentAt, charged && packed.note.settled === true);
      }
      return new Promise<"taken" | "left">((resolve) => {
        const leave = () => resolve("left");
        undurable.add(leave);
        const kept = () => {
          undurable.delete(leave);
          resolve("taken");
        };
        waiting.resolve({ kind: "outcome", outcome, lostAttempts: Math.max(0, nth - 1), kept });
      });
    },
    end: () => {
      ended.abort(new DuckmirrorError("INTERRUPTED"));
      for (const waiting of [...pending.values()]) waiting.resolve({ kind: "unsent" });
      for (const leave of undurable) leave();
    },
  };
};
