// Throttle: hands out the slots of the limiter to whoever waits, first come first served. In memory, for one process.
import type { RateInfo } from "../api/outcome.ts";
import type { Clock } from "../core/clock.ts";
import {
  backOff,
  type LimiterState,
  nextSlot,
  observeRate,
  ratePerMinute,
  startLimiter,
  takeSlot,
  type WaitReason,
} from "./limiter.ts";

interface ThrottleReading {
  /** Requests per minute that are aimed at: 99% of what is allowed. */
  readonly ratePerMinute: number;
  /** When the next request may leave, ms since the epoch; in the past: now. */
  readonly nextAt: number;
  /** Set while requests wait for more than their turn: the moment at which that ends. */
  readonly waitingUntil: number | null;
  readonly why: WaitReason;
}

export interface Throttle {
  /** Resolves when the caller may send one request; rejects with the signal's reason when it aborts first. */
  acquire(signal?: AbortSignal): Promise<void>;
  /** After every answer: what its headers said (null: nothing) and how many others are still in flight. */
  observe(rate: RateInfo | null, inFlight: number): void;
  /** After a refusal for speed: no request leaves before `untilMs`, ms since the epoch. */
  backOff(untilMs: number): void;
  state(): ThrottleReading;
}

interface Waiter {
  grant(): void;
}

/** Timers count in 31 bits of ms: a longer sleep would return at once, and spin. */
const LONGEST_SLEEP_MS = 3_600_000;

/** `configured`: requests per minute, or null to take what the service says. */
export const createThrottle = ({ clock, configured }: { clock: Clock; configured: number | null }): Throttle => {
  let limiter: LimiterState = startLimiter(configured);
  const queue: Waiter[] = [];
  let alarm: AbortController | null = null;
  let serving = false;

  const rest = async (ms: number) => {
    const wake = new AbortController();
    alarm = wake;
    // Rejects only because something changed: then the loop looks again.
    await clock.sleep(Math.min(ms, LONGEST_SLEEP_MS), wake.signal).catch(() => {});
    alarm = null;
  };

  const serve = async () => {
    serving = true;
    while (queue.length > 0) {
      const now = clock.now();
      const { at } = nextSlot(limiter);
      if (at > now) {
        await rest(at - now);
        continue;
      }
      limiter = takeSlot(limiter, now);
      queue.shift()?.grant();
    }
    serving = false;
  };

  const change = (next: LimiterState) => {
    limiter = next;
    alarm?.abort();
  };

  return {
    acquire: (signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const leave = () => {
          queue.splice(queue.indexOf(waiter), 1);
          if (queue.length === 0) alarm?.abort();
          reject(signal?.reason);
        };
        const waiter: Waiter = {
          grant: () => {
            signal?.removeEventListener("abort", leave);
            resolve();
          },
        };
        signal?.addEventListener("abort", leave, { once: true });
        queue.push(waiter);
        if (!serving) void serve();
      }),
    observe: (rate, inFlight) => change(observeRate(limiter, rate, inFlight, clock.now())),
    backOff: (untilMs) => change(backOff(limiter, untilMs, clock.now())),
    state: () => {
      const { at, why } = nextSlot(limiter);
      const waiting = why !== "pace" && at > clock.now();
      return { ratePerMinute: ratePerMinute(limiter), nextAt: at, waitingUntil: waiting ? at : null, why };
    },
  };
};
