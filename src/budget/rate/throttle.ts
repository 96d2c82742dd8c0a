// Throttle: grants the limiter's slots to waiting requests, first come first served within a process. The limiter is
// in a state store: in memory for one process, in Redis for all processes of an organization. The throttle keeps what its
// process knows of the limiter, its own requests in flight, and its changes that the store has not taken yet.
import { randomUUID } from "node:crypto";
import type { RateInfo } from "../../api/outcome.ts";
import { untilAborted } from "../../core/async/waiting.ts";
import type { Clock } from "../../core/clock.ts";
import { createMemoryState, type StateStore } from "../store/state-store.ts";
import { type Refusal, refuse } from "./learned-limits.ts";
import { nextSlot, observeRate, type Pacing, type Proof, type RequestTimes, takeSlot } from "./limiter.ts";
import { startLimiter } from "./limiter-state.ts";
import {
  countFlight,
  FLIGHT_MS,
  inFlight,
  isPossible,
  limitsAt,
  onEarlierClock,
  type SharedLimiter,
  startShared,
} from "./windows.ts";

export interface Throttle {
  /**
   * Resolves when the caller may send one request. `onWait`: called while the request has to wait, with the time when it may
   * be sent, as far as it is known. Rejects with the signal's reason, and with REDIS_UNAVAILABLE or REDIS_FULL when a
   * shared limiter is not reachable.
   */
  acquire(signal?: AbortSignal, onWait?: (until: number) => void): Promise<void>;
  /**
   * Call after every response, also one that never came, with its rate headers (null: none) and the times of
   * request and response. Need not be awaited and never rejects: changes that a shared limiter did not store
   * are sent with the next request.
   */
  observe(rate: RateInfo | null, trip?: RequestTimes): Promise<void>;
  /** A granted request is not sent. Otherwise like `observe`. */
  releaseSlot(): Promise<void>;
  /** After `observe` of a refused request: waits, and learns from it. Otherwise like `observe`. */
  backOff(refusal: Refusal): Promise<void>;
  /** Most requests in flight, as refusals showed; null: no such limit is known. */
  mostInFlight(): number | null;
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

interface Waiter {
  readonly signal: AbortSignal | undefined;
  readonly onWait: ((until: number) => void) | undefined;
  grant(): void;
  refuse(reason: unknown): void;
  readonly leave: () => void;
}

/** Change caused by an answer. `skew`: the store's clock minus this process's. */
type Change = (state: SharedLimiter, now: number, skew: number) => SharedLimiter;

/** A granted request without an answer. */
interface Granted {
  /** This process's clock. */
  readonly at: number;
  /** By the store's clock. */
  readonly proof: Proof;
}

/** Timers hold 31 bits of ms; a longer sleep would return at once, and loop. */
const LONGEST_SLEEP_MS = 3_600_000;
/** Longest sleep, because another process may change a shared limiter, e.g. learn a faster rate. */
const SHARED_SLEEP_MS = 1_000;
/** The same while an answer to another process's request makes room. */
const SHARED_ANSWER_MS = 50;

const shifted = (at: number | null, ms: number): number | null => (at === null ? null : at + ms);

// The methods of `Throttle` are fields, so that a sender takes them over as they are.
class StoredThrottle implements Throttle {
  readonly #clock: Clock;
  readonly #configured: number | null;
  readonly #pacing: Pacing;
  readonly #store: StateStore<SharedLimiter>;
  readonly #process: string;
  readonly #queue: Waiter[] = [];
  #serving = false;
  /** Aborts when something changed, which ends the wait of the request being served. */
  #changed = new AbortController();
  /** Aborts when no request waits any more. */
  #abandoned = new AbortController();
  /** The limiter after the latest exchange with the store. */
  #latest: SharedLimiter;
  /** The store may hold what another program wrote. */
  #isForeign = true;
  /** The store's clock minus this process's, ms. */
  #skewMs = 0;
  /** Sent with the next turn. */
  #pending: readonly Change[] = [];
  /** Oldest first. One that is never observed is dropped in time. */
  readonly #granted: Granted[] = [];
  /** A pause that the service asked for, by this process's clock: it holds before the store knows of it. */
  #pausedUntil = -Infinity;
  /** Answers that the store has not taken yet. */
  #settling = 0;
  /** The latest refused request, and whether the service's count held requests back before its answer. */
  #refused: { readonly proof: Proof | null; readonly wasHeld: boolean } = { proof: null, wasHeld: false };

  constructor({ clock, configured, pacing = "burst", store, process = randomUUID() }: ThrottleOptions) {
    this.#clock = clock;
    this.#configured = configured;
    this.#pacing = pacing;
    this.#store = store ?? createMemoryState(clock, startShared());
    this.#process = process;
    this.#latest = { limiter: startLimiter(configured), flights: [] };
  }

  readonly acquire = (signal?: AbortSignal, onWait?: (until: number) => void): Promise<void> =>
    new Promise((grant, refuse) => {
      if (signal?.aborted) return refuse(signal.reason);
      const leave = () => {
        this.#leave(waiter);
        refuse(signal?.reason);
        if (this.#queue.length === 0) this.#wake();
      };
      const waiter: Waiter = { signal, onWait, grant, refuse, leave };
      signal?.addEventListener("abort", leave, { once: true });
      this.#queue.push(waiter);
      if (!this.#serving) void this.#serve();
    });

  readonly observe = async (rate: RateInfo | null, trip?: RequestTimes): Promise<void> => {
    const proof = this.#granted.shift()?.proof ?? null;
    // A refusal beside a count that leaves more is not due to others who use up the limit.
    const wasHeld = this.#latest.limiter.left?.isLess === true && !((rate?.remaining ?? 0) > 0);
    if (trip?.end === "refused") this.#refused = { proof, wasHeld };
    this.#settling += 1;
    await this.#change(({ limiter, flights: before }, now, skew) => {
      const flights = countFlight(before, this.#process, -1, now);
      const heard = rate && {
        ...rate,
        resetsAt: shifted(rate.resetsAt, skew),
        retryAt: shifted(rate.retryAt, skew),
      };
      const moved = trip && { ...trip, sentAt: trip.sentAt + skew, answeredAt: trip.answeredAt + skew };
      const flying = inFlight(flights, now).all;
      return { flights, limiter: observeRate(limiter, heard, flying, now, moved ?? null, proof) };
    });
    this.#settling -= 1;
    this.#wake();
  };

  readonly releaseSlot = async (): Promise<void> => {
    this.#granted.pop();
    await this.#change((state, now) => ({ ...state, flights: countFlight(state.flights, this.#process, -1, now) }));
    this.#wake();
  };

  readonly backOff = async (refusal: Refusal): Promise<void> => {
    const { proof, wasHeld } = this.#refused;
    if (refusal.cause === "rate") this.#pausedUntil = Math.max(this.#pausedUntil, refusal.untilMs);
    await this.#change((state, now, skew) => {
      const known = { ...refusal, untilMs: refusal.untilMs + skew, namedAt: shifted(refusal.namedAt, skew) };
      return { ...state, limiter: refuse(state.limiter, known, proof, wasHeld, now) };
    });
    this.#wake();
  };

  readonly mostInFlight = (): number | null => {
    const { learned } = limitsAt(this.#latest.limiter, this.#clock.now() + this.#skewMs);
    // A bucket of one is kept from answer to answer: it looks the same, and is named the same.
    return learned?.burst === 1 ? 1 : (learned?.inFlight ?? null);
  };

  /** Serves the waiting requests one after the other. */
  async #serve(): Promise<void> {
    this.#serving = true;
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      const changed = new AbortController();
      this.#changed = changed;
      this.#abandoned = new AbortController();
      try {
        const waitMs = await this.#takeTurn(this.#abandoned.signal);
        if (waitMs > 0 && !changed.signal.aborted) await this.#untilRoom(first, waitMs, changed.signal);
        if (waitMs > 0) continue;
        // If the requester left, the slot is the next one's.
        const next = this.#queue.includes(first) ? first : this.#queue[0];
        if (next === undefined) void this.releaseSlot();
        else this.#leave(next);
        next?.grant();
      } catch (error) {
        // Without the store no request gets a turn.
        if (!this.#queue.includes(first)) continue;
        for (const each of [...this.#queue]) {
          this.#leave(each);
          each.refuse(error);
        }
      }
    }
    this.#serving = false;
  }

  /** Waits for the slot, or until `changed` aborts. An answer to a request of this process always does that. */
  async #untilRoom(waiter: Waiter, waitMs: number, changed: AbortSignal): Promise<void> {
    const { shared } = this.#store;
    const longest = shared ? (waitMs === Infinity ? SHARED_ANSWER_MS : SHARED_SLEEP_MS) : LONGEST_SLEEP_MS;
    if (waitMs < Infinity) waiter.onWait?.(this.#clock.now() + waitMs);
    // Slots are fractions of a ms; a sleep of less than one would not pass on every clock.
    const wait =
      waitMs === Infinity && !shared
        ? untilAborted(new Promise<never>(() => {}), changed)
        : this.#clock.sleep(Math.min(Math.ceil(waitMs), longest), changed);
    // Rejects only because something changed; the next turn shows what.
    await wait.catch(() => {});
  }

  /** Takes a slot if one is free, and returns 0; else the wait for it in ms (Infinity: only an answer makes room). Rejects when the store is away. */
  async #takeTurn(signal: AbortSignal): Promise<number> {
    const sent = this.#pending;
    const turn = await this.#store.update<Proof | number>(
      (stored, now) => {
        const state = this.#learn(stored, now, sent);
        const { all, awaited } = inFlight(state.flights, now);
        const slot = nextSlot(state.limiter, all, now, this.#pacing, awaited);
        const at = Math.max(slot, this.#pausedUntil + this.#skewMs);
        if (at > now) {
          this.#latest = state;
          // Times that moved with the clock are written, else each look would move them, and the wait, again.
          const isMoved = state.limiter.grantedAt !== stored.limiter.grantedAt;
          return { state: sent.length > 0 || isMoved ? state : stored, result: at - now };
        }
        const { state: limiter, proof } = takeSlot(state.limiter, all, now);
        const flights = countFlight(state.flights, this.#process, 1, now, this.#hasNone());
        this.#latest = { limiter, flights };
        return { state: this.#latest, result: proof };
      },
      { signal },
    );
    this.#pending = this.#pending.slice(sent.length);
    if (typeof turn === "number") return turn;
    this.#granted.push({ at: this.#clock.now(), proof: turn });
    return 0;
  }

  /** No request of this process is in flight: what the store still counts was never observed. */
  #hasNone(): boolean {
    const since = this.#clock.now() - FLIGHT_MS;
    while ((this.#granted[0]?.at ?? Infinity) <= since) this.#granted.shift();
    return this.#granted.length === 0 && this.#settling === 0 && this.#pending.length === 0;
  }

  /**
   * The limiter at `now` of the store's clock: with this process's settings and changes, and with its knowledge if the store
   * lost its memory.
   */
  #learn(stored: SharedLimiter, now: number, changes: readonly Change[]): SharedLimiter {
    this.#skewMs = now - this.#clock.now();
    const isLost = stored.limiter.grantedAt === -Infinity && this.#latest.limiter.grantedAt > -Infinity;
    let known = onEarlierClock(isLost ? { ...this.#latest, flights: stored.flights } : stored, now);
    if (this.#isForeign && !isPossible(known, now)) known = startShared();
    this.#isForeign = this.#store.shared;
    let state: SharedLimiter = { ...known, limiter: { ...known.limiter, configured: this.#configured } };
    for (const change of changes) state = change(state, now, this.#skewMs);
    return state;
  }

  async #change(change: Change): Promise<void> {
    try {
      await this.#store.update((stored, now) => {
        this.#latest = this.#learn(stored, now, [change]);
        return { state: this.#latest, result: undefined };
      });
    } catch {
      // The store is away. Waiting requests get their own error; this change is kept until the store is back.
      this.#pending = [...this.#pending, change];
    }
  }

  /** Ends the wait of the request being served, because something changed. */
  #wake(): void {
    this.#changed.abort();
    if (this.#queue.length === 0) this.#abandoned.abort();
  }

  #leave(waiter: Waiter): void {
    waiter.signal?.removeEventListener("abort", waiter.leave);
    this.#queue.splice(this.#queue.indexOf(waiter), 1);
  }
}

export const createThrottle = (options: ThrottleOptions): Throttle => new StoredThrottle(options);
