// Ends a wait that cannot be ended itself: a reply of Redis, a credit of somebody else.

/**
 * What `work` comes to; rejects with the signal's reason as soon as that aborts, and `work` goes on unheard. Without a
 * signal just `work`.
 */
export const untilAborted = <T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> =>
  new Promise((resolve, reject) => {
    if (signal === undefined) return work.then(resolve, reject);
    const onAbort = () => reject(signal.reason);
    work.finally(() => signal.removeEventListener("abort", onAbort)).then(resolve, reject);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
  });
