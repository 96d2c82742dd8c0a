// Waiting requests of a process, served one after the other: first come, first served.
import type { Clock } from "../../core/clock.ts";
import { isCode } from "../../core/errors.ts";
import type { Fence } from "../store/state-store.ts";
import { windowMs } from "./limiter.ts";
import type { LimiterView } from "./limiter-view.ts";

interface Waiter {
  readonly fence: Fence | undefined;
  grant(): void;
  refuse(reason: unknown): void;
}

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

export class WaitingLine {
  readonly #clock: Clock;
  readonly #view: LimiterView;
  readonly #longestSleepMs: number;
  readonly #queue: Waiter[] = [];
  /** Times that the store took to grant the latest slots. */
  #lately: readonly number[] = [];
  #serving = false;
  #wake = () => {};

  /** `shared`: other processes change the limiter, too. */
  constructor(clock: Clock, view: LimiterView, shared: boolean) {
    this.#clock = clock;
    this.#view = view;
    this.#longestSleepMs = shared ? SHARED_SLEEP_MS : LONGEST_SLEEP_MS;
  }

  /** Ends the wait of the request being served, because something changed. */
  wake(): void {
    this.#wake();
  }

  /** Resolves when the caller may send one request; rejects as `Throttle.acquire`. */
  join(signal: AbortSignal | undefined, fence: Fence | undefined): Promise<void> {
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
      const waiter: Waiter = { fence, grant: ended<void>(resolve), refuse: ended(reject) };
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
    const askedAt = this.#clock.now();
    try {
      const turn = await this.#view.takeTurn(abandoned.signal, waiter.fence);
      if (turn.granted) {
        // Without the one that asks the service, every process would wait for its response in vain.
        const isStale = this.#isStale(this.#clock.now() - askedAt);
        if (turn.asks || !isStale) this.#grant(waiter);
        return;
      }
      if (changed.signal.aborted) return;
      // Rejects only because something changed; the loop then continues.
      await this.#clock.sleep(Math.min(turn.waitMs, this.#longestSleepMs), changed.signal).catch(() => {});
    } catch (error) {
      if (!this.#queue.includes(waiter)) return;
      // Without the store no request gets a turn; with a broken fence only this one gets none.
      for (const each of isCode(error, "FENCED") ? [waiter] : [...this.#queue]) this.#refuse(each, error);
    } finally {
      this.#wake = () => {};
    }
  }

  /**
   * A slot that took unusually long to arrive is outdated. Constant slowness shifts all slots alike and is harmless.
   */
  #isStale(tookMs: number): boolean {
    const usualMs = Math.min(...this.#lately);
    this.#lately = [...this.#lately, tookMs].slice(-LATELY);
    return tookMs > usualMs + staleMs(windowMs(this.#view.limiter));
  }

  /** Grants the slot to its requester. If the requester left, grants it to the next waiter without a fence. */
  #grant(waiter: Waiter): void {
    const next = this.#queue.includes(waiter) ? waiter : this.#queue.find(({ fence }) => fence === undefined);
    if (next === undefined) return;
    this.#queue.splice(this.#queue.indexOf(next), 1);
    this.#view.noteGrant();
    next.grant();
  }

  #refuse(waiter: Waiter, reason: unknown): void {
    this.#queue.splice(this.#queue.indexOf(waiter), 1);
    waiter.refuse(reason);
  }
}
