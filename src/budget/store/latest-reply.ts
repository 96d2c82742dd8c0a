// The latest reply of a server, with an estimate of the server's time that is never ahead of it: a reply is older than its
// arrival, so each one bounds the server's clock from below. The highest of the latest bounds counts, so that one slow reply
// does not put the estimate back.

/** Bounds that are kept, and the longest time for which they hold, ms: clocks drift. */
const BOUNDS = 16;
const OLDEST_MS = 60_000;

export interface LatestReply<R> {
  /** Takes a reply to what was sent at `sentAt`, by the same clock as `elapsed`; null: there was none. Returns it. */
  keep<K extends R | null>(reply: K, sentAt: number): K;
  /** The latest reply, with its time moved on to the present; null: there is none, or it is old. */
  read(): R | null;
}

/** `elapsed`: ms by a clock that nobody sets. A reply's `now`: ms by the server's clock. */
export const createLatestReply = <R extends { readonly now: number }>(elapsed: () => number): LatestReply<R> => {
  let latest: { readonly reply: R; readonly at: number } | null = null;
  let bounds: readonly number[] = [];
  return {
    keep: (reply, sentAt) => {
      if (reply === null) {
        latest = null;
        return reply;
      }
      const at = elapsed();
      // A bound above what this reply allows is of another clock: the server's was put back, or another one took over.
      const highest = reply.now + 1 - sentAt;
      bounds = [...bounds.filter((bound) => bound <= highest), reply.now - at].slice(-BOUNDS);
      latest = { reply, at };
      return reply;
    },
    read: () => {
      const now = elapsed();
      if (latest === null || now - latest.at > OLDEST_MS) return null;
      return { ...latest.reply, now: Math.max(latest.reply.now, Math.floor(now + Math.max(...bounds))) };
    },
  };
};
