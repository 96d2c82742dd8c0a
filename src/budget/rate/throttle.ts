// Throttle: grants the limiter's slots to waiting requests, first come first served within a process. The limiter is
// in a state store: in memory for one process, in Redis for all processes of an organization.
import { randomUUID } from "node:crypto";
import type { RateInfo } from "../../api/outcome.ts";
import { untilAborted } from "../../core/async/when-free.ts";
import type { Clock } from "../../core/clock.ts";
import { createMemoryState, type StateStore } from "../store/state-store.ts";
import type { Refusal } from "./learned.ts";
import type { Pacing, Trip, WaitReason } from "./limiter.ts";
import { LimiterView } from "./limiter-view.ts";
import { burstOf, inFlightOf, ratePerMinute, type SharedLimiter, startShared } from "./windows.ts";

// Waiting requests of a process, served one after the other: first come, first served.

interface Waiter {
  grant(): void;
  refuse(reason: unknown): void;
}

/** Timers hold 31 bits of ms; a longer sleep would return at once, and loop. */
const LONGEST_SLEEP_MS = 3_600_000;
/** Longest sleep, because another process may change a shared limiter, e.g. learn a faster rate. */
const SHARED_SLEEP_MS = 1_000;
/** The same while an answer to another process's request makes room. */
const SHARED_ANSWER_MS = 50;

export class WaitingLine {
  readonly #clock: Clock;
  readonly #view: LimiterView;
  readonly #shared: boolean;
  readonly #queue: Waiter[] = [];
  #serving = false;
  #wake = () => {};

  /** `shared`: other processes change the limiter, too. */
  constructor(clock: Clock, view: LimiterView, shared: boolean) {
    this.#clock = clock;
    this.#view = view;
    this.#shared = shared;
  }

  /** Ends the wait of the request being served, because something changed. */
  wake(): void {
    this.#wake();
  }

  /** Resolves when the caller may send one request; rejects as `Throttle.acquire`. */
  join(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const leave = () => {
        this.#refuse(waiter, signal?.reason);
        if (this.#queue.length === 0) this.#wake();
      };
      const ended =
        <T>(end: (value: T) => void) =>
        (value: T) => {
          signal?.removeEventListener("abort", leave);
          end(value);
        };
      const waiter: Waiter = { grant: ended<void>(resolve), refuse: ended(reject) };
      signal?.addEventListener("abort", leave, { once: true });
      this.#queue.push(waiter);
      if (!this.#serving) void this.#serve();
    });
  }

  async #serve(): Promise<void> {
    this.#serving = true;
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) await this.#serveOne(first);
    this.#serving = false;
  }

  async #serveOne(waiter: Waiter): Promise<void> {
    const changed = new AbortController();
    const abandoned = new AbortController();
    this.#wake = () => {
      changed.abort();
      if (this.#queue.length === 0) abandoned.abort();
    };
    try {
      const turn = await this.#view.takeTurn(abandoned.signal);
      if (turn.granted) return this.#grant(waiter);
      if (changed.signal.aborted) return;
      // Rejects only because something changed; the loop then continues.
      await this.#untilRoom(turn.waitMs, changed.signal).catch(() => {});
    } catch (error) {
      // Without the store no request gets a turn.
      if (this.#queue.includes(waiter)) for (const each of [...this.#queue]) this.#refuse(each, error);
    } finally {
      this.#wake = () => {};
    }
  }

  /** Waits for the slot, or until `changed` aborts. An answer to a request of this process always does that. */
  #untilRoom(waitMs: number, changed: AbortSignal): Promise<void> {
    if (waitMs === Infinity && !this.#shared) return untilAborted(new Promise<never>(() => {}), changed);
    const longest = waitMs === Infinity ? SHARED_ANSWER_MS : SHARED_SLEEP_MS;
    // Slots are fractions of a ms; a sleep of less than one would not pass on every clock.
    return this.#clock.sleep(Math.min(Math.ceil(waitMs), this.#shared ? longest : LONGEST_SLEEP_MS), changed);
  }

  /** Grants the slot to its requester. If the requester left, grants it to the next waiter. */
  #grant(waiter: Waiter): void {
    const next = this.#queue.includes(waiter) ? waiter : this.#queue[0];
    if (next === undefined) return void this.#view.giveBack();
    this.#queue.splice(this.#queue.indexOf(next), 1);
    next.grant();
  }

  #refuse(waiter: Waiter, reason: unknown): void {
    this.#queue.splice(this.#queue.indexOf(waiter), 1);
    waiter.refuse(reason);
  }
}

interface ThrottleReading {
  /** The rate in force, in requests per minute. */
  readonly ratePerMinute: number;
  /** Time when the next request may be sent, ms since the epoch; in the past: now. */
  readonly nextAt: number;
  /** Set while requests wait for more than their turn: the end of that wait. */
  readonly waitingUntil: number | null;
  readonly why: WaitReason;
  /** Most requests in flight, as refusals showed; null: no such limit is known. */
  readonly mostInFlight: number | null;
}

export interface Throttle {
  /**
   * Resolves when the caller may send one request. Rejects with the signal's reason, and with REDIS_UNAVAILABLE or
   * REDIS_FULL when a shared limiter is not reachable.
   */
  acquire(signal?: AbortSignal): Promise<void>;
  /**
   * Call after every response, also one that never came, with its rate headers (null: none) and the times of
   * request and response. Need not be awaited and never rejects: changes that a shared limiter did not store
   * are sent with the next request.
   */
  observe(rate: RateInfo | null, trip?: Trip): Promise<void>;
  /** A granted request is not sent. Otherwise like `observe`. */
  giveBack(): Promise<void>;
  /** After `observe` of a refused request: waits, and learns from it. Otherwise like `observe`. */
  backOff(refusal: Refusal): Promise<void>;
  /** State after the latest exchange with the limiter; times are of this process's clock. */
  state(): ThrottleReading;
}

export interface ThrottleOptions {
  readonly clock: Clock;
  /** Requests per minute set by the user; null: use the service's limit. */
  readonly configured: number | null;
  /** `even`: requests are spread over the window. Default: what it allows is sent at once. */
  readonly pacing?: Pacing;
  /** Store of the limiter; default: this process's memory. */
  readonly store?: StateStore<SharedLimiter>;
  /** Unique name of this process. */
  readonly process?: string;
}

export const createThrottle = (options: ThrottleOptions): Throttle => {
  const { clock, configured, pacing = "burst", process = randomUUID() } = options;
  const { store = createMemoryState(clock, startShared()) } = options;
  const view = new LimiterView({ clock, configured, pacing, store, process });
  const line = new WaitingLine(clock, view, store.shared);
  return {
    acquire: (signal) => line.join(signal),
    observe: async (rate, trip) => {
      await view.observe(rate, trip);
      line.wake();
    },
    giveBack: async () => {
      await view.giveBack();
      line.wake();
    },
    backOff: async (refusal) => {
      await view.backOff(refusal);
      line.wake();
    },
    state: () => {
      const now = clock.now();
      const { at, why } = view.slot;
      // An answer may come at any moment.
      const nextAt = at === Infinity ? now : at;
      const waiting = why !== "pace" && nextAt > now;
      const shared = now + view.skewMs;
      return {
        ratePerMinute: ratePerMinute(view.limiter, shared),
        nextAt,
        waitingUntil: waiting ? nextAt : null,
        why,
        // A bucket of one is kept from answer to answer: it looks the same, and is named the same.
        mostInFlight: burstOf(view.limiter, shared) === 1 ? 1 : inFlightOf(view.limiter, shared),
      };
    },
  };
};
