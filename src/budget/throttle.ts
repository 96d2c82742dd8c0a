// Throttle: hands out the slots of the limiter to whoever waits, first come first served within a process. The limiter
// lives in a state store: in memory for one process, in Redis for all processes of an organization.
import { randomUUID } from "node:crypto";
import type { RateInfo } from "../api/outcome.ts";
import type { Clock } from "../core/clock.ts";
import { isCode } from "../core/errors.ts";
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
import { createMemoryState } from "./memory-state.ts";
import type { Fence, StateStore } from "./state-store.ts";

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
  /**
   * Resolves when the caller may send one request. Rejects with the signal's reason when it aborts first, with FENCED
   * when `fence` does not hold any more, and with REDIS_UNAVAILABLE or REDIS_FULL where a shared limiter stays away.
   */
  acquire(signal?: AbortSignal, fence?: Fence): Promise<void>;
  /**
   * After every answer: what its headers said (null: nothing), how many others are still in flight, and when the request
   * left and was answered. Need not be awaited and never rejects: what a shared limiter did not take in goes along with
   * the next request.
   */
  observe(rate: RateInfo | null, inFlight: number, trip?: Trip): Promise<void>;
  /** After a refusal for speed: no request leaves before `untilMs`, ms since the epoch. As `observe` else. */
  backOff(untilMs: number): Promise<void>;
  /** As of the latest word with the limiter; moments are those of this process's clock. */
  state(): ThrottleReading;
}

export interface ThrottleOptions {
  readonly clock: Clock;
  /** Requests per minute that the user set; null: take what the service says. */
  readonly configured: number | null;
  /** Where the limiter lives; without it in the memory of this process. */
  readonly store?: StateStore<SharedLimiter>;
  /** A name that no other process has. */
  readonly process?: string;
}

interface Waiter {
  readonly fence: Fence | undefined;
  grant(): void;
  refuse(reason: unknown): void;
}

/** What an answer changes. `skew`: the store's clock minus this one's. */
type Change = (state: SharedLimiter, now: number, skew: number) => SharedLimiter;

type Turn = { readonly granted: true } | { readonly granted: false; readonly waitMs: number };

/** Timers count in 31 bits of ms: a longer sleep would return at once, and spin. */
const LONGEST_SLEEP_MS = 3_600_000;
/** How long another process may have changed a shared limiter unnoticed, e.g. learned a faster rate. */
const SHARED_SLEEP_MS = 1_000;
/** So much older than usual a slot may be when it arrives, as a share of the window; more would crowd a later window. */
const STALE = 0.005;
/** In short windows that would be less than a busy machine's delays: there this share, and no more than this long. */
const STALE_SHORT = 0.05;
const MOST_STALE_SHORT_MS = 300;

const staleMs = (windowMs: number): number =>
  Math.max(windowMs * STALE, Math.min(windowMs * STALE_SHORT, MOST_STALE_SHORT_MS));
/** So many slots in a row must be slow before that is the usual. */
const LATELY = 4;

/** A rate recovers within the hour; whoever says later speaks of a quota (api/quota-signs.ts). */
const LONGEST_RATE_WAIT_MS = 3_600_000;

/**
 * A limiter that would wait longer took a refusal for want of credits for one (versions
 * before this one did, and Redis remembers): that wait holds nobody up.
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
  /** Changes that the store did not take: they go along with the next turn. */
  let unsaid: readonly Change[] = [];
  /** When requests left that have no answer yet; one that never was observed is forgotten in time. */
  let granted: readonly number[] = [];
  let latest: SharedLimiter = { limiter: startLimiter(configured), flights: [] };
  let skewMs = 0;
  /** How long the store took to hand out the latest slots. */
  let lately: readonly number[] = [];
  /** Ends the wait of who is being served, since something changed. */
  let look = () => {};
  let serving = false;

  const flying = (): number => {
    granted = granted.filter((at) => at + FLIGHT_MS > clock.now());
    return granted.length;
  };

  /** The limiter as this process takes it: with its own setting, and with what it knows where the store lost it. */
  const taken = (stored: SharedLimiter, now: number): SharedLimiter => {
    const lost = !stored.limiter.started && latest.limiter.started;
    const { limiter, flights } = onEarlierClock(stored, now);
    const known = lost ? onEarlierClock({ ...latest, flights }, now).limiter : limiter;
    const limits = withinTheHour({ ...known, slot: Math.max(known.slot, limiter.slot), configured }, now);
    return { limiter: limits, flights };
  };

  /** What this process knows at `now` of the store's clock, with all it has not told yet. */
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
      // The store is away. Waiting requests find out for themselves; this must not get lost until it is back.
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
          // Unchanged, unless there was something to tell: nobody's turn is not worth a write.
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

  /** A slot that was long on its way belongs to the past. Constant slowness shifts all slots alike and does no harm. */
  const isStale = (tookMs: number): boolean => {
    const usualMs = Math.min(...lately);
    lately = [...lately, tookMs].slice(-LATELY);
    return tookMs > usualMs + staleMs(windowMs(latest.limiter));
  };

  /** Whoever asked for the slot gets it; gave that one up, the next in line, unless it wants a fence of its own. */
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
      // Rejects only because something changed: then the loop looks again.
      await clock.sleep(Math.min(turn.waitMs, most), changed.signal).catch(() => {});
    } catch (error) {
      if (!queue.includes(waiter)) return;
      // Without the store nobody gets a turn; without its fence only this one gets none.
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
