// A process's view of the limiter in the store: what it knows of it, its own requests in flight, and its changes that the
// store has not taken yet.
import type { RateInfo } from "../../api/outcome.ts";
import type { Clock } from "../../core/clock.ts";
import type { Fence, StateStore } from "../store/state-store.ts";
import { FLIGHT_MS, flightsOfOthers, noteFlights, onEarlierClock, type SharedLimiter } from "./flights.ts";
import { backOff, nextSlot, observeRate, type Trip, takeSlot } from "./limiter.ts";
import { startLimiter } from "./limiter-state.ts";

/** Change caused by a response. `skew`: the store's clock minus this process's. */
type Change = (state: SharedLimiter, now: number, skew: number) => SharedLimiter;

export type Turn =
  /** `asks`: no slot follows it before its response, or before half a minute is over. */
  { readonly granted: true; readonly asks: boolean } | { readonly granted: false; readonly waitMs: number };

export interface ViewOptions {
  readonly clock: Clock;
  /** Requests per minute set by the user; null: use the service's limit. */
  readonly configured: number | null;
  readonly store: StateStore<SharedLimiter>;
  /** Unique name of this process. */
  readonly process: string;
}

/** True when a request sent at `now` asks the service for its rate, or for what remains of it after a reset. */
const asksService = ({ configured, started, spare, refilledAt }: SharedLimiter["limiter"], now: number): boolean =>
  (configured === null && !started) || (spare !== null && now >= refilledAt);

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

export class LimiterView {
  readonly #options: ViewOptions;
  #latest: SharedLimiter;
  #skewMs = 0;
  /** Sent with the next turn. */
  #pending: readonly Change[] = [];
  /** Times of requests without a response; one that is never observed is dropped in time. */
  #granted: readonly number[] = [];

  constructor(options: ViewOptions) {
    this.#options = options;
    this.#latest = { limiter: startLimiter(options.configured), flights: [] };
  }

  /** The limiter after the latest exchange with the store. */
  get limiter(): SharedLimiter["limiter"] {
    return this.#latest.limiter;
  }

  /** The store's clock minus this process's, ms. */
  get skewMs(): number {
    return this.#skewMs;
  }

  /** A request may be sent now. */
  noteGrant(): void {
    this.#granted = [...this.#granted, this.#options.clock.now()];
  }

  /** Takes a slot if one is free. Rejects when the store is away or the fence no longer holds. */
  async takeTurn(signal: AbortSignal, fence: Fence | undefined): Promise<Turn> {
    const sent = this.#pending;
    const turn = await this.#options.store.update<Turn>(
      (stored, now) => {
        const state = this.#learn(stored, now, sent);
        const { at } = nextSlot(state.limiter);
        if (at > now) {
          this.#latest = state;
          // Nothing to write: no slot was granted and no change is pending.
          return { state: sent.length > 0 ? state : stored, result: { granted: false, waitMs: at - now } };
        }
        const flights = noteFlights(state.flights, this.#options.process, this.#flying() + 1, now);
        this.#latest = { limiter: takeSlot(state.limiter, now), flights };
        return { state: this.#latest, result: { granted: true, asks: asksService(state.limiter, now) } };
      },
      { signal, fence },
    );
    this.#pending = this.#pending.slice(sent.length);
    return turn;
  }

  /** A response came. Never rejects. */
  observe(rate: RateInfo | null, inFlight: number, trip: Trip | undefined): Promise<void> {
    this.#granted = this.#granted.slice(1);
    const { process } = this.#options;
    return this.#change((state, now, skew) => {
      const mine = Math.max(this.#flying(), inFlight);
      const others = flightsOfOthers(state.flights, process, now);
      const seen =
        rate === null
          ? null
          : { ...rate, resetsAt: shifted(rate.resetsAt, skew), retryAt: shifted(rate.retryAt, skew) };
      return {
        limiter: observeRate(state.limiter, seen, mine + others, now, trip === undefined ? null : moved(trip, skew)),
        flights: noteFlights(state.flights, process, mine, now),
      };
    });
  }

  /** No request before `untilMs`, this process's clock. Never rejects. */
  backOff(untilMs: number): Promise<void> {
    return this.#change((state, now, skew) => ({ ...state, limiter: backOff(state.limiter, untilMs + skew, now) }));
  }

  #flying(): number {
    this.#granted = this.#granted.filter((at) => at + FLIGHT_MS > this.#options.clock.now());
    return this.#granted.length;
  }

  /** The limiter with this process's settings, and with its knowledge if the store lost its memory. */
  #known(stored: SharedLimiter, now: number): SharedLimiter {
    const { configured } = this.#options;
    const lost = !stored.limiter.started && this.#latest.limiter.started;
    const { limiter, flights } = onEarlierClock(stored, now);
    const known = lost ? onEarlierClock({ ...this.#latest, flights }, now).limiter : limiter;
    const limits = withinTheHour({ ...known, slot: Math.max(known.slot, limiter.slot), configured }, now);
    return { limiter: limits, flights };
  }

  /** The limiter at `now` of the store's clock, with these changes of this process. */
  #learn(stored: SharedLimiter, now: number, changes: readonly Change[]): SharedLimiter {
    this.#skewMs = now - this.#options.clock.now();
    return changes.reduce((state, change) => change(state, now, this.#skewMs), this.#known(stored, now));
  }

  async #change(change: Change): Promise<void> {
    try {
      await this.#options.store.update((stored, now) => {
        this.#latest = this.#learn(stored, now, [change]);
        return { state: this.#latest, result: undefined };
      });
    } catch {
      // The store is away. Waiting requests get their own error; this change is kept until the store is back.
      this.#pending = [...this.#pending, change];
    }
  }
}
