// Sender of a loader: each request becomes a job for the fetchers, and its response comes back through the mailbox. A
// rate slot is taken just before a request is queued; the next request waits until this one was sent.
import type { Queue } from "bullmq";
import type { ApiOutcome } from "../../../api/outcome.ts";
import type { ReadingOptions } from "../../../api/wire-answer.ts";
import type { OrganizationLedger } from "../../../budget/credits/organization-ledger.ts";
import type { Throttle } from "../../../budget/rate/throttle.ts";
import type { Clock } from "../../../core/clock.ts";
import { DuckmirrorError, detailOf } from "../../../core/errors.ts";
import { untilAborted } from "../../../core/until-aborted.ts";
import { knownTurnAt, type Parcel, type SendEnds, type Sender, type Sending } from "../../../sync/request/sender.ts";
import { WRITTEN } from "../../asking/payloads.ts";
import { type Mailbox, MOST_SLOT_AGE_MS } from "../mailbox.ts";
import { type FetchPayload, type RemoteRequest, requestOf, signedJob } from "../messages.ts";
import { PASSING_JOB } from "../names.ts";
import { type Packed, unpackAnswer } from "../packed-answer.ts";
import { patiently } from "../patience.ts";
import type { Seals } from "../seals.ts";
import type { StoreClock } from "../store-clock.ts";
import {
  cancel,
  endRequest,
  noneOutstanding,
  type Outstanding,
  type Pending,
  takeBack,
  vanished,
} from "./outstanding.ts";

/** Intervals for checking whether a queued request was sent, ms; short at first. */
const FIRST_POLL_MS = 4;
const LONGEST_POLL_MS = 250;
/** Time for which Redis may be away before a request counts as unsendable. */
const REDIS_PATIENCE_MS = 60_000;

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

/** State of a loader's sender. */
interface Loader {
  readonly deps: RemoteSenderDeps;
  readonly beganAt: number;
  readonly outstanding: Outstanding;
  /** Times of unused slots, by Redis's clock. */
  slots: readonly number[];
  /** Delivered responses that are not durable yet. */
  readonly undurable: Set<() => void>;
  /** Signals of runs whose end takes queued requests back. */
  readonly heeded: WeakSet<AbortSignal>;
  readonly ended: AbortController;
}

const heed = ({ heeded, outstanding, deps }: Loader, signal: AbortSignal): void => {
  if (heeded.has(signal)) return;
  heeded.add(signal);
  signal.addEventListener("abort", () => void takeBack(outstanding, deps), { once: true });
};

const untilLeft = async ({ deps, outstanding: { queued } }: Loader, signal: AbortSignal): Promise<void> => {
  const { clock, mailbox } = deps;
  for (let pollMs = FIRST_POLL_MS; queued.size > 0; pollMs = Math.min(2 * pollMs, LONGEST_POLL_MS)) {
    await clock.sleep(pollMs, signal);
    // While Redis is away nothing is sent, so the check continues until the turn is abandoned.
    const left = await untilAborted(mailbox.departed([...queued]), signal).catch(() => new Set<string>());
    for (const requestId of left) queued.delete(requestId);
  }
};

const takeTurn = async (loader: Loader, signal: AbortSignal): Promise<void> => {
  const { throttle, storeClock } = loader.deps;
  signal.throwIfAborted();
  heed(loader, signal);
  const either = AbortSignal.any([signal, loader.ended.signal]);
  await untilLeft(loader, either);
  await throttle.acquire(either);
  loader.slots = [...loader.slots, storeClock.now()];
};

/** The latest unused slot; without one, the fetcher takes its own. */
const takeSlot = (loader: Loader): number => {
  const now = loader.deps.storeClock.now();
  const [first = 0, ...rest] = loader.slots.filter((at) => now - at < MOST_SLOT_AGE_MS);
  loader.slots = rest;
  return first;
};

const payloadOf = (loader: Loader, parcel: Parcel, request: RemoteRequest): FetchPayload => {
  const { sender, storeClock } = loader.deps;
  const { traceparent } = parcel;
  return {
    ...WRITTEN.request,
    ...sender,
    runBeganAt: loader.beganAt + storeClock.skewMs(),
    slotAt: takeSlot(loader),
    ...(typeof traceparent === "string" ? { traceparent } : {}),
    request,
  };
};

const unavailable = ({ address }: RemoteSenderDeps, error: unknown) =>
  new DuckmirrorError("REDIS_UNAVAILABLE", { address, detail: detailOf(error) }, { cause: error });

/** Queues a request for the fetchers; resolves it when that fails or is given up. */
const enqueue = async (
  { deps, outstanding, ended }: Loader,
  waiting: Pending,
  payload: FetchPayload,
  signal: AbortSignal,
): Promise<void> => {
  const { clock, mailbox, queue, seals, organization } = deps;
  const { pending, memories } = outstanding;
  const { requestId } = waiting.request;
  let mayBeQueued = false;
  const add = async () => {
    // The job may exist already, or even be answered, if only the reply was lost; then the first memory counts.
    const memory = await mailbox.memory();
    if (memory !== null && !memories.has(requestId)) memories.set(requestId, memory);
    if (!pending.has(requestId)) return;
    mayBeQueued = true;
    await queue.add("request", signedJob(seals, organization, payload), { ...PASSING_JOB, jobId: requestId });
  };
  try {
    await untilAborted(patiently(add, { clock, forMs: REDIS_PATIENCE_MS, signal }), signal);
  } catch (error) {
    // A request that may be queued may also have been sent; at the end of the run it is taken back if it was not.
    if (!mayBeQueued)
      waiting.resolve(signal.aborted ? { kind: "unsent" } : { kind: "denied", error: unavailable(deps, error) });
    else if (signal.aborted) await cancel(outstanding, deps, waiting, ended.signal);
    else waiting.resolve(vanished(waiting, clock.now()));
  }
};

const send = (loader: Loader, parcel: Parcel, { signal, hardSignal }: SendEnds): Promise<Sending> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: "unsent" });
    const { deps, outstanding, ended } = loader;
    const request = requestOf(parcel);
    const { requestId } = request;
    const onAbort = () => void cancel(outstanding, deps, waiting, ended.signal);
    const waiting: Pending = {
      request,
      since: deps.clock.now(),
      resolve: (sending) => {
        hardSignal.removeEventListener("abort", onAbort);
        endRequest(outstanding, requestId);
        resolve(sending);
      },
    };
    outstanding.pending.set(requestId, waiting);
    outstanding.queued.add(requestId);
    hardSignal.addEventListener("abort", onAbort, { once: true });
    if (hardSignal.aborted) return onAbort();
    void enqueue(loader, waiting, payloadOf(loader, parcel, request), signal);
  });

/** Figures for all processes. If Redis is away, the next response brings them again. */
const reportQuota = ({ deps }: Loader, outcome: ApiOutcome, isSettled: boolean): void => {
  if (outcome.kind !== "ok" && outcome.kind !== "refused") return;
  const { usage, sentAt } = outcome;
  if (usage !== null) deps.ledger.observe(usage, sentAt, outcome.kind === "ok" && isSettled).catch(() => undefined);
};

const deliver = async (loader: Loader, packed: Packed): Promise<"taken" | "left" | "unwanted"> => {
  const { deps, outstanding, undurable } = loader;
  const { request, nth, settled: isSettled } = packed.note;
  const waiting = outstanding.pending.get(request.requestId);
  if (waiting === undefined) return "unwanted";
  endRequest(outstanding, request.requestId);
  const unpacked = await unpackAnswer(packed, deps.storeClock.skewMs(), deps.reading);
  if (unpacked.kind === "denied") {
    waiting.resolve({ kind: "denied", error: unpacked.error });
    return "taken";
  }
  const { outcome } = unpacked;
  reportQuota(loader, outcome, isSettled === true);
  return new Promise<"taken" | "left">((resolve) => {
    const leave = () => resolve("left");
    undurable.add(leave);
    const kept = () => {
      undurable.delete(leave);
      resolve("taken");
    };
    waiting.resolve({ kind: "outcome", outcome, lostAttempts: Math.max(0, nth - 1), kept });
  });
};

export const createRemoteSender = (deps: RemoteSenderDeps): RemoteSender => {
  const { throttle } = deps;
  const loader: Loader = {
    deps,
    beganAt: deps.clock.now(),
    outstanding: noneOutstanding(),
    slots: [],
    undurable: new Set(),
    heeded: new WeakSet(),
    ended: new AbortController(),
  };
  const { pending } = loader.outstanding;
  let turns: Promise<unknown> = Promise.resolve();
  return {
    turn: (signal) => {
      const mine = turns.catch(() => undefined).then(() => takeTurn(loader, signal));
      turns = mine;
      return mine;
    },
    nextTurnAt: () => knownTurnAt(throttle.state()),
    backOff: (untilMs) => void throttle.backOff(untilMs),
    observe: (rate, trip) => void throttle.observe(rate, pending.size, trip),
    send: (parcel, ends) => send(loader, parcel, ends),
    pending: () => pending,
    deliver: (packed) => deliver(loader, packed),
    end: () => {
      loader.ended.abort(new DuckmirrorError("INTERRUPTED"));
      for (const waiting of [...pending.values()]) waiting.resolve({ kind: "unsent" });
      for (const leave of loader.undurable) leave();
    },
  };
};
