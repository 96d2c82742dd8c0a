// Interrupts work that does not listen to a signal, such as a statement of DuckDB on the snapshot, some seconds after the program was asked
// to end, or after a time limit.
const running = new Set<() => void>();

/** An orderly end takes less. */
const GRACE_MS = 3_000;
const AGAIN_MS = 500;

/** Runs `work`, which `interrupt` makes fail; that also happens after `mostMs`, and `isLate` is true then. */
export const interruptible = async <T>(
  interrupt: () => void,
  work: (isLate: () => boolean) => Promise<T>,
  mostMs?: number,
): Promise<T> => {
  let late = false;
  const stop = () => {
    late = true;
    interrupt();
  };
  const timer = mostMs === undefined ? undefined : setTimeout(stop, mostMs);
  running.add(interrupt);
  try {
    return await work(() => late);
  } finally {
    running.delete(interrupt);
    clearTimeout(timer);
  }
};

/** The program is to end: after a few seconds all such work is interrupted, and what begins later, too. */
export const interruptSoon = (): void => {
  const again = () => {
    for (const interrupt of running) interrupt();
    setTimeout(again, AGAIN_MS).unref();
  };
  setTimeout(again, GRACE_MS).unref();
};
