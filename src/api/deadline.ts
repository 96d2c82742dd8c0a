// Time limit of one request.
import { timerMs } from "../core/clock.ts";

export interface Deadline {
  readonly signal: AbortSignal;
  /** The time is over. */
  expired(): boolean;
  /** The caller aborted before that. */
  aborted(): boolean;
  release(): void;
}

/**
 * A signal that aborts with the caller's or after `ms`, and leaves no listener once released. It does not notice a signal
 * that has aborted before the call: the caller checks that.
 */
export const withDeadline = (signal: AbortSignal | undefined, ms: number): Deadline => {
  const stop = new AbortController();
  const onAbort = () => stop.abort();
  let expired = false;
  const timer = setTimeout(() => {
    expired = true;
    stop.abort();
  }, timerMs(ms));
  signal?.addEventListener("abort", onAbort, { once: true });
  return {
    signal: stop.signal,
    expired: () => expired,
    aborted: () => signal?.aborted === true && !expired,
    release: () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    },
  };
};
