// A process's view of the limiter in the store: what it knows of it, its own requests in flight, and its changes that the
// store has not taken yet.
import type { RateInfo } from "../../api/outcome.ts";
import type { Clock } from "../../core/clock.ts";
import type { StateStore } from "../store/state-store.ts";
import { type Refusal, refuse } from "./learned.ts";
import { nextSlot, observeRate, type Pacing, type Proof, type Trip, takeSlot } from "./limiter.ts";
import { startLimiter } from "./limiter-state.ts";
import {
  awaited,
  countFlight,
  FLIGHT_MS,
  inFlight,
  isPossible,
  onEarlierClock,
  type SharedLimiter,
  startShared,
} from "./windows.ts";

/** Change caused by an answer. `skew`: the store's clock minus this process's. */
type Change = (state: SharedLimiter, now: number, skew: number) => SharedLimiter;

export type Turn =
  | { readonly granted: true }
  /** Infinity: only an answer to a request in flight makes room. */
  | { readonly granted: false; readonly waitMs: number };

export interface ViewOptions {
  readonly clock: Clock;
  /** Requests per minute set by the user; null: use the service's limit. */
  readonly configured: number | null;
  readonly pacing: Pacing;
  readonly store: StateStore<SharedLimiter>;
  /** Unique name of this process. */
  readonly process: string;
}

/** A granted request without an answer. */
interface Granted {
  /** This process's clock. */
  readonly at: number;
  /** By the store's clock. */
  readonly proof: Proof;
}

const shifted = (at: number | null, ms: number): number | null => (at === null ? null : at + ms);

const moved = (trip: Trip, ms: number): Trip => ({
  ...trip,
  sentAt: trip.sentAt + ms,
  answeredAt: trip.answeredAt + ms,
});

export class LimiterView {
  readonly #options: ViewOptions;
  #latest: SharedLimiter;
  #skewMs = 0;
  /** Sent with the next turn. */
  #pending: readonly Change[] = [];
  /** One that is never observed is dropped in time. */
  #granted: readonly Granted[] = [];
  /** A pause that the service asked for, by this process's clock: it holds before the store knows of it. */
  #pausedUntil = -Infinity;
  /** Answers that the store has not taken yet. */
  #settling = 0;
  /** The latest refused request, and whether the service's count held requests back before its answer. */
  #refused: { readonly proof: Proof | null; readonly wasHeld: boolean } = { proof: null, wasHeld: false };

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

  /** When the next request may be sent, by the store's clock. */
  next(state: SharedLimiter, now: number): ReturnType<typeof nextSlot> {
    const { limiter, flights } = state;
    const slot = nextSlot(limiter, inFlight(flights, now), now, this.#options.pacing, awaited(flights, now));
    const pausedUntil = this.#pausedUntil + this.#skewMs;
    return pausedUntil > slot.at ? { at: pausedUntil, why: "refused" } : slot;
  }

  /** The same, after the latest exchange and by this process's clock. */
  get slot(): ReturnType<typeof nextSlot> {
    const { at, why } = this.next(this.#latest, this.#options.clock.now() + this.#skewMs);
    return { at: at - this.#skewMs, why };
  }

  /** Takes a slot if one is free. Rejects when the store is away. */
  async takeTurn(signal: AbortSignal): Promise<Turn> {
    const sent = this.#pending;
    const turn = await this.#options.store.update<Proof | Exclude<Turn, { granted: true }>>(
      (stored, now) => {
        const state = this.#learn(stored, now, sent);
        const { at } = this.next(state, now);
        if (at > now) {
          this.#latest = state;
          // Times that moved with the clock are written, else each look would move them, and the wait, again.
          const isMoved = state.limiter.grantedAt !== stored.limiter.grantedAt;
          return {
            state: sent.length > 0 || isMoved ? state : stored,
            result: { granted: false, waitMs: at - now },
          };
        }
        const { state: limiter, proof } = takeSlot(state.limiter, inFlight(state.flights, now), now);
        const flights = countFlight(state.flights, this.#options.process, 1, now, this.#hasNone());
        this.#latest = { limiter, flights };
        return { state: this.#latest, result: proof };
      },
      { signal },
    );
    this.#pending = this.#pending.slice(sent.length);
    if ("granted" in turn) return turn;
    this.#granted = [...this.#granted, { at: this.#options.clock.now(), proof: turn }];
    return { granted: true };
  }

  /** A granted request is not sent. Never rejects. */
  giveBack(): Promise<void> {
    this.#granted = this.#granted.slice(0, -1);
    return this.#change((state, now) => this.#withoutOne(state, now));
  }

  /** An answer came. Never rejects. */
  async observe(rate: RateInfo | null, trip: Trip | undefined): Promise<void> {
    const [first] = this.#granted;
    const proof = first?.proof ?? null;
    this.#granted = this.#granted.slice(1);
    // A refusal beside a count that leaves more is not due to others who use up the limit.
    const wasHeld = this.#latest.limiter.left?.isLess === true && !((rate?.remaining ?? 0) > 0);
    if (trip?.end === "refused") this.#refused = { proof, wasHeld };
    this.#settling += 1;
    await this.#change((state, now, skew) => {
      const next = this.#withoutOne(state, now);
      const heard =
        rate === null
          ? null
          : { ...rate, resetsAt: shifted(rate.resetsAt, skew), retryAt: shifted(rate.retryAt, skew) };
      const shiftedTrip = trip === undefined ? null : moved(trip, skew);
      const flying = inFlight(next.flights, now);
      return { ...next, limiter: observeRate(state.limiter, heard, flying, now, shiftedTrip, proof) };
    });
    this.#settling -= 1;
  }

  /** The request of the latest refused answer waits; times are of this process's clock. Never rejects. */
  backOff(refusal: Refusal): Promise<void> {
    const { proof, wasHeld } = this.#refused;
    if (refusal.cause === "rate") this.#pausedUntil = Math.max(this.#pausedUntil, refusal.untilMs);
    return this.#change((state, now, skew) => {
      const known = { ...refusal, untilMs: refusal.untilMs + skew, namedAt: shifted(refusal.namedAt, skew) };
      return { ...state, limiter: refuse(state.limiter, known, proof, wasHeld, now) };
    });
  }

  #withoutOne(state: SharedLimiter, now: number): SharedLimiter {
    return { ...state, flights: countFlight(state.flights, this.#options.process, -1, now) };
  }

  /** No request of this process is in flight: what the store still counts was never observed. */
  #hasNone(): boolean {
    this.#granted = this.#granted.filter(({ at }) => at + FLIGHT_MS > this.#options.clock.now());
    return this.#granted.length === 0 && this.#settling === 0 && this.#pending.length === 0;
  }

  /** The limiter with this process's settings, and with its knowledge if the store lost its memory. */
  #known(stored: SharedLimiter, now: number): SharedLimiter {
    const isLost = stored.limiter.grantedAt === -Infinity && this.#latest.limiter.grantedAt > -Infinity;
    const known = onEarlierClock(isLost ? { ...this.#latest, flights: stored.flights } : stored, now);
    const { limiter, flights } = isPossible(known, now) ? known : startShared();
    return { flights, limiter: { ...limiter, configured: this.#options.configured } };
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
