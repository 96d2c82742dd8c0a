// Throttle: grants the limiter's slots to waiting requests, first come first served within a process. The limiter is
// in a state store: in memory for one process, in Redis for all processes of an organization.
import { randomUUID } from "node:crypto";
import type { RateInfo } from "../../api/outcome.ts";
import type { Clock } from "../../core/clock.ts";
import { isCode } from "../../core/errors.ts";
import { createMemoryState } from "../store/in-memory.ts";
import type { Fence, StateStore } from "../store/state-store.ts";
import { FLIGHT_MS, flightsOfOthers, noteFlights, onEarlierClock, type SharedLimiter, startShared } from "./flights.ts";
import {
  backOff,
  nextSlot,
  observeRate,
  ratePerMinute,
  startLimiter,
  type Trip,
  takeSlot,
  type WaitReason,
  windowMs,
} from "./limiter.ts";

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

interface Waiter {
  readonly fence: Fence | undefined;
  grant(): void;
  refuse(reason: unknown): void;
}

/** Change caused by a response. `skew`: the store's clock minus this process's. */
type Change = (state: SharedLimiter, now: number, skew: number) => SharedLimiter;

type Turn = { readonly granted: true } | { readonly granted: false; readonly waitMs: number };

/** Timers hold 31 bits of ms; a longer sleep would return at once, and loop. */
const LONGEST_SLEEP_MS = 3_600_000;
/** Longest sleep, because another process may change a shared limiter, e.g. learn a faster rate. */
const SHARED_SLEEP_MS = 1_000;
/** Extra age of a slot on arrival, as a share of the window; an older slot would crowd a later window. */
const STALE = 0.005;
/** In short windows that would be less than a busy machine's delays: this share there, but at most this long. */
const STALE_SHORT = 0.05;
const MOST_STALE_SHORT_MS = 300;

const staleMs = (windowMs: number): number =>
  Math.max(windowMs * STALE, Math.min(windowMs * STALE_SHORT, MOST_STALE_SHORT_MS));
/** Number of consecutive slow slots before slowness counts as usual. */
const LATELY = 4;

/** A rate recovers within the hour; a later time belongs to a quota (api/limits/quota-signs.ts). */
const LONGEST_RATE_WAIT_MS = 3_600_000;

/**
 * Drops a longer wait. Earlier versions stored one after a refusal for lack of credits, and Redis may still have it.
 */
const withinTheHour = (limiter: SharedLimiter["limiter"], now: number): SharedLimiter["limiter"] => ({
  ...limiter,
  blockedUntil: limiter.blockedUntil > now + LONGEST_RATE_WAIT_MS ? -Infinity : limiter.blockedUntil,
  spare: limiter.refilledAt > now + LONGEST_RATE_WAIT_MS ? null : limiter.spare,
});

const shifted = (at: number | null, ms: number): number | null => (at === null ? null : at + ms);

const moved = ({ sentAt, answeredAt }: Trip, ms: number): Trip => ({
  sentAt: sentAt + ms,
  answeredAt: answeredAt + ms,
});

export const createThrottle = (options: ThrottleOptions): Throttle => {
  const { clock, configured, store = createMemoryState(clock, startShared()), process = randomUUID() } = options;
  const queue: Waiter[] = [];
  /** Changes that the store has not taken; they are sent with the next turn. */
  let unsaid: readonly Change[] = [];
  /** Times of requests without a response; one that is never observed is dropped in time. */
  let granted: readonly number[] = [];
  let latest: SharedLimiter = { limiter: startLimiter(configured), flights: [] };
  let skewMs = 0;
  /** Times that the store took to grant the latest slots. */
  let lately: readonly number[] = [];
  /** Ends the wait of the request being served, because something changed. */
  let look = () => {};
  let serving = false;

  const flying = (): number => {
    granted = granted.filter((at) => at + FLIGHT_MS > clock.now());
    return granted.length;
  };

  /** The limiter with this process's settings, and with its knowledge if the store lost its memory. */
  const taken = (stored: SharedLimiter, now: number): SharedLimiter => {
    const lost = !stored.limiter.started && latest.limiter.started;
    const { limiter, flights } = onEarlierClock(stored, now);
    const known = lost ? onEarlierClock({ ...latest, flights }, now).limiter : limiter;
    const limits = withinTheHour({ ...known, slot: Math.max(known.slot, limiter.slot), configured }, now);
    return { limiter: limits, flights };
  };

  /** The limiter at `now` of the store's clock, with all pending changes of this process. */
  const heard = (stored: SharedLimiter, now: number, more: readonly Change[]): SharedLimiter => {
    skewMs = now - clock.now();
    return more.reduce((state, change) => change(state, now, skewMs), taken(stored, now));
  };

  const tell = async (change: Change): Promise<void> => {
    try {
      await store.update((stored, now) => {
        latest = heard(stored, now, [change]);
        return { state: latest, result: undefined };
      });
    } catch {
      // The store is away. Waiting requests get their own error; this change is kept until the store is back.
      unsaid = [...unsaid, change];
    }
    look();
  };

  const takeTurn = async ({ fence }: Waiter, signal: AbortSignal): Promise<Turn> => {
    const telling = unsaid;
    const turn = await store.update<Turn>(
      (stored, now) => {
        const state = heard(stored, now, telling);
        const { at } = nextSlot(state.limiter);
        if (at > now) {
          latest = state;
          // Nothing to write: no slot was granted and no change is pending.
          return { state: telling.length > 0 ? state : stored, result: { granted: false, waitMs: at - now } };
        }
        const limiter = takeSlot(state.limiter, now);
        latest = { limiter, flights: noteFlights(state.flights, process, flying() + 1, now) };
        return { state: latest, result: { granted: true } };
      },
      { signal, fence },
    );
    unsaid = unsaid.slice(telling.length);
    return turn;
  };

  /**
   * A slot that took unusually long to arrive is outdated. Constant slowness shifts all slots alike and is harmless.
   */
  const isStale = (tookMs: number): boolean => {
    const usualMs = Math.min(...lately);
    lately = [...lately, tookMs].slice(-LATELY);
    return tookMs > usualMs + staleMs(windowMs(latest.limiter));
  };

  /** Grants the slot to its requester. If the requester left, grants it to the next waiter without a fence. */
  const hand = (waiter: Waiter) => {
    const next = queue.includes(waiter) ? waiter : queue.find(({ fence }) => fence === undefined);
    if (next === undefined) return;
    queue.splice(queue.indexOf(next), 1);
    granted = [...granted, clock.now()];
    next.grant();
  };

  const refuse = (waiter: Waiter, reason: unknown) => {
    queue.splice(queue.indexOf(waiter), 1);
    waiter.refuse(reason);
  };

  const serveOne = async (waiter: Waiter): Promise<void> => {
    const changed = new AbortController();
    const abandoned = new AbortController();
    look = () => {
      changed.abort();
      if (queue.length === 0) abandoned.abort();
    };
    const askedAt = clock.now();
    try {
      const turn = await takeTurn(waiter, abandoned.signal);
      if (turn.granted) {
        if (!isStale(clock.now() - askedAt)) hand(waiter);
        return;
      }
      if (changed.signal.aborted) return;
      const most = store.shared ? SHARED_SLEEP_MS : LONGEST_SLEEP_MS;
      // Rejects only because something changed; the loop then continues.
      await clock.sleep(Math.min(turn.waitMs, most), changed.signal).catch(() => {});
    } catch (error) {
      if (!queue.includes(waiter)) return;
      // Without the store no request gets a turn; with a broken fence only this one gets none.
      for (const each of isCode(error, "FENCED") ? [waiter] : [...queue]) refuse(each, error);
    } finally {
      look = () => {};
    }
  };

  const serve = async () => {
    serving = true;
    for (let first = queue[0]; first !== undefined; first = queue[0]) await serveOne(first);
    serving = false;
  };

  return {
    acquire: (signal, fence) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const leave = () => {
          refuse(waiter, signal?.reason);
          if (queue.length === 0) look();
        };
        const ended =
          <T>(end: (value: T) => void) =>
          (value: T) => {
            signal?.removeEventListener("abort", leave);
            end(value);
          };
        const waiter: Waiter = { fence, grant: ended<void>(resolve), refuse: ended(reject) };
        signal?.addEventListener("abort", leave, { once: true });
        queue.push(waiter);
        if (!serving) void serve();
      }),
    observe: (rate, inFlight, trip) => {
      granted = granted.slice(1);
      return tell((state, now, skew) => {
        const mine = Math.max(flying(), inFlight);
        const others = flightsOfOthers(state.flights, process, now);
        const said =
          rate === null
            ? null
            : { ...rate, resetsAt: shifted(rate.resetsAt, skew), retryAt: shifted(rate.retryAt, skew) };
        return {
          limiter: observeRate(state.limiter, said, mine + others, now, trip === undefined ? null : moved(trip, skew)),
          flights: noteFlights(state.flights, process, mine, now),
        };
      });
    },
    backOff: (untilMs) =>
      tell((state, now, skew) => ({ ...state, limiter: backOff(state.limiter, untilMs + skew, now) })),
    state: () => {
      const { at, why } = nextSlot(latest.limiter);
      const nextAt = at - skewMs;
      const waiting = why !== "pace" && nextAt > clock.now();
      return { ratePerMinute: ratePerMinute(latest.limiter), nextAt, waitingUntil: waiting ? nextAt : null, why };
    },
  };
};
