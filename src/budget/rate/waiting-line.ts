// Waiting requests of a process, served one after the other: first come, first served.
import { untilAborted } from "../../core/async/when-free.ts";
import type { Clock } from "../../core/clock.ts";
import type { LimiterView } from "./limiter-view.ts";

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
