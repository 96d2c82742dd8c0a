// What a process learned of the service's limits, kept for the next one in a file of the data directory: a service that
// refuses a burst refuses it once, and requests of the last minute count in the next sync, too. A loss of the file costs a
// refusal at most, so that no fault of it ends a run.
import { randomUUID } from "node:crypto";
import { rename, rm } from "node:fs/promises";
import { z } from "zod";
import { readOwnIfThere, writeNewSync } from "../../core/files/own-files.ts";
import { type SharedLimiter, startShared } from "./flights.ts";
import { limiterSchema, startLimiter } from "./limiter-state.ts";

const WEEK_MS = 7 * 86_400_000;

/** `organization`: see organizationKey; a limit belongs to it. */
const rememberedSchema = z.object({ organization: z.string(), limiter: limiterSchema });

/** The limiter that the file holds for this organization, without what is too old to hold; else an empty one. */
export const recallLimiter = async (file: string, organization: string, now: number): Promise<SharedLimiter> => {
  const text = await readOwnIfThere(file).catch(() => null);
  try {
    const stored = text === null ? null : rememberedSchema.parse(JSON.parse(text));
    if (stored?.organization !== organization || stored.limiter.grantedAt < now - WEEK_MS) return startShared();
    const { assumed, steppedAt, loweredFrom, retried } = startLimiter(null);
    const { limiter } = stored;
    // A rate that nobody names is tried anew after a while: the plan may be a faster one by now.
    const guess = limiter.steppedAt < now - WEEK_MS ? { assumed, steppedAt, loweredFrom, retried } : {};
    // The first request goes alone: others may have used the limit meanwhile, and the network may be another one.
    return { limiter: { ...limiter, ...guess, heardUpTo: -Infinity, fastestMs: null, trips: 0 }, flights: [] };
  } catch {
    return startShared();
  }
};

/** Keeps the limiter for the next process. Never rejects. */
export const rememberLimiter = async (file: string, organization: string, shared: SharedLimiter): Promise<void> => {
  if (shared.limiter.grantedAt === -Infinity) return;
  const fresh = `${file}.${randomUUID()}`;
  try {
    writeNewSync(fresh, JSON.stringify({ organization, limiter: shared.limiter }));
    await rename(fresh, file);
  } catch {
    await rm(fresh, { force: true }).catch(() => undefined);
  }
};
