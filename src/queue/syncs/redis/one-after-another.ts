// Requests of one profile in this process, one after the other: then only one of them waits for its turn at Redis. Many that
// ask there at once keep Redis busy with asking.
import type { Clock } from "../../../core/clock.ts";

/** `mostMs`: nobody waits longer for those before. */
export const createTurns = (clock: Clock, mostMs: number) => {
  const last = new Map<string, Promise<void>>();

  const waitFor = async (before: Promise<void>): Promise<void> => {
    const over = new AbortController();
    await Promise.race([before, clock.sleep(mostMs, over.signal).catch(() => undefined)]);
    over.abort();
  };

  /** Runs `work` when the earlier ones of the same name have ended, and answers as it does. */
  return <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const before = last.get(name);
    const mine = before === undefined ? work() : waitFor(before).then(work);
    const ended: Promise<void> = mine.then(
      () => undefined,
      () => undefined,
    );
    last.set(name, ended);
    void ended.then(() => {
      if (last.get(name) === ended) last.delete(name);
    });
    return mine;
  };
};
