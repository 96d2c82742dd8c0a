// Throttle: grants the limiter's slots to waiting requests, first come first served within a process. The limiter is
// in a state store: in memory for one process, in Redis for all processes of an organization.
import { randomUUID } from "node:crypto";
import type { RateInfo } from "../../api/outcome.ts";
import type { Clock } from "../../core/clock.ts";
import { createMemoryState } from "../store/in-memory.ts";
import type { Fence, StateStore } from "../store/state-store.ts";
import { type SharedLimiter, startShared } from "./flights.ts";
import { nextSlot, ratePerMinute, type Trip, type WaitReason } from "./limiter.ts";
import { LimiterView } from "./limiter-view.ts";
import { WaitingLine } from "./waiting-line.ts";

interface ThrottleReading {
  /** Target in requests per minute: 99% of the allowed rate. */
  readonly ratePerMinute: number;
  /** Time when the next request may be sent, ms since the epoch; in the past: now. */
  readonly nextAt: number;
  /** Set while requests wait for more than their turn: the end of that wait. */
  readonly waitingUntil: number | null;
  readonly why: WaitReason;
}

export interface Throttle {
  /**
   * Resolves when the caller may send one request. Rejects with the signal's reason, with FENCED when `fence` no
   * longer holds, and with REDIS_UNAVAILABLE or REDIS_FULL when a shared limiter is not reachable.
   */
  acquire(signal?: AbortSignal, fence?: Fence): Promise<void>;
  /**
   * Call after every response with its rate headers (null: none), the number of other requests in flight, and the
   * times of request and response. Need not be awaited and never rejects: changes that a shared limiter did not store
   * are sent with the next request.
   */
  observe(rate: RateInfo | null, inFlight: number, trip?: Trip): Promise<void>;
  /** After a rate refusal: no request before `untilMs`, ms since the epoch. Otherwise like `observe`. */
  backOff(untilMs: number): Promise<void>;
  /** State after the latest exchange with the limiter; times are of this process's clock. */
  state(): ThrottleReading;
}

export interface ThrottleOptions {
  readonly clock: Clock;
  /** Requests per minute set by the user; null: use the service's limit. */
  readonly configured: number | null;
  /** Store of the limiter; default: this process's memory. */
  readonly store?: StateStore<SharedLimiter>;
  /** Unique name of this process. */
  readonly process?: string;
}

export const createThrottle = (options: ThrottleOptions): Throttle => {
  const { clock, configured, store = createMemoryState(clock, startShared()), process = randomUUID() } = options;
  const view = new LimiterView({ clock, configured, store, process });
  const line = new WaitingLine(clock, view, store.shared);
  return {
    acquire: (signal, fence) => line.join(signal, fence),
    observe: async (rate, inFlight, trip) => {
      await view.observe(rate, inFlight, trip);
      line.wake();
    },
    backOff: async (untilMs) => {
      await view.backOff(untilMs);
      line.wake();
    },
    state: () => {
      const { at, why } = nextSlot(view.limiter);
      const nextAt = at - view.skewMs;
      const waiting = why !== "pace" && nextAt > clock.now();
      return { ratePerMinute: ratePerMinute(view.limiter), nextAt, waitingUntil: waiting ? nextAt : null, why };
    },
  };
};
