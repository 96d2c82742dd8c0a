// Throttle: grants the limiter's slots to waiting requests, first come first served within a process. The limiter is
// in a state store: in memory for one process, in Redis for all processes of an organization.
import { randomUUID } from "node:crypto";
import type { RateInfo } from "../../api/outcome.ts";
import type { Clock } from "../../core/clock.ts";
import type { StateStore } from "../store/state-store.ts";
import { createMemoryState } from "../store/state-store.ts";
import type { Refusal } from "./learned.ts";
import type { Pacing, Trip, WaitReason } from "./limiter.ts";
import { LimiterView } from "./limiter-view.ts";
import { ratePerMinute } from "./rates-in-force.ts";
import { WaitingLine } from "./waiting-line.ts";
import { type SharedLimiter, startShared } from "./windows.ts";

interface ThrottleReading {
  /** The rate in force, in requests per minute. */
  readonly ratePerMinute: number;
  /** Time when the next request may be sent, ms since the epoch; in the past: now. */
  readonly nextAt: number;
  /** Set while requests wait for more than their turn: the end of that wait. */
  readonly waitingUntil: number | null;
  readonly why: WaitReason;
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
      const rate = ratePerMinute(view.limiter, now + view.skewMs);
      return { ratePerMinute: rate, nextAt, waitingUntil: waiting ? nextAt : null, why };
    },
  };
};
