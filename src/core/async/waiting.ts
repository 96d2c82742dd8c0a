// Functions for waiting: for work until a signal aborts or a time limit passes, for a result that is cached briefly, and for the mirror
// until no other work, in this process or another, uses it.
import type { Clock } from "../clock.ts";
import { DuckmirrorError, isCode } from "../errors.ts";

// Ends a wait whose work cannot be aborted: a reply from Redis, a credit reserved by another process.

/**
 * Result of `work`; rejects with the signal's reason as soon as it aborts, and ignores the later result of `work`.
 * Without a signal, just `work`.
 */
export const untilAborted = <T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> =>
  new Promise((resolve, reject) => {
    if (signal === undefined) return work.then(resolve, reject);
    const onAbort = () => reject(signal.reason);
    work.finally(() => signal.removeEventListener("abort", onAbort)).then(resolve, reject);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
  });

/** Waits for `work` for at most `ms`; false: it goes on. Throws the errors of `work`. */
export const endsWithin = async (work: Promise<unknown>, ms: number, clock: Pick<Clock, "sleep">): Promise<boolean> => {
  const ended = new AbortController();
  const late = clock.sleep(ms, ended.signal).then(
    () => false,
    () => false,
  );
  return Promise.race([work.then(() => true), late]).finally(() => ended.abort());
};

// Shares one reading among those who ask within a moment.

/** `read` with its latest result kept for `keptMs`; a failure is not kept. */
export const briefly = <T>(read: () => Promise<T>, clock: Pick<Clock, "now">, keptMs: number): (() => Promise<T>) => {
  let latest: { readonly at: number; readonly result: Promise<T> } | null = null;
  return () => {
    const ageMs = latest === null ? keptMs : clock.now() - latest.at;
    // Negative after the clock was set back.
    if (latest !== null && ageMs >= 0 && ageMs < keptMs) return latest.result;
    const reading = { at: clock.now(), result: read() };
    latest = reading;
    reading.result.catch(() => {
      if (latest === reading) latest = null;
    });
    return reading.result;
  };
};

/** Repeats the work every `busyMs` while the mirror is in use. Throws INTERRUPTED if the signal ends the wait. */
export const whenFree = async <T>(
  work: () => Promise<T>,
  { clock, busyMs, signal }: { readonly clock: Clock; readonly busyMs: number; readonly signal: AbortSignal },
): Promise<T> => {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isCode(error, "WRITER_BUSY")) throw error;
    }
    await clock.sleep(busyMs, signal).catch(() => {
      throw new DuckmirrorError("INTERRUPTED");
    });
  }
};
