// Work that waits until no other work, in this process or another, uses the mirror.
import type { Clock } from "../clock.ts";
import { DuckmirrorError, isCode } from "../errors.ts";

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
