// Waits until the user or the system asks the program to stop.
import { once } from "node:events";

export const untilStopped = async (signal: AbortSignal): Promise<void> => {
  if (!signal.aborted) await once(signal, "abort");
};
