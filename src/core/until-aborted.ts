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
