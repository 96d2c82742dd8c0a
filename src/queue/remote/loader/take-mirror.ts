// At its start a run claims its mirror in Redis, so that no other loader's requests count, and takes over the responses
// that earlier runs left there. A loader's run does so, and also a run that sends its requests itself, after a loader of
// the same mirror was killed.
import type { AccessContext } from "../../../../jobs/service-access.ts";
import type { Redactor } from "../../../api/redact.ts";
import type { RedisConnection } from "../../../budget/store/redis-connection.ts";
import type { Config } from "../../../core/config/config.ts";
import { untilAborted } from "../../../core/until-aborted.ts";
import type { Warehouse } from "../../../warehouse/file/warehouse.ts";
import { ENDED, openMailbox } from "../mailbox.ts";
import { patiently } from "../patience.ts";
import { claim, type MirrorLink, mirrorLink, readRedisTime, resign } from "./link.ts";
import { mirrorIdOf } from "./mirror-id.ts";
import { type TakeOverDeps, takeOver } from "./take-over.ts";

const CLAIM_PATIENCE_MS = 30_000;

/** How responses are read that a fetcher wrote. */
export const readingOf = ({ config, scrubber }: MirrorLink): TakeOverDeps["reading"] => ({
  limitBytes: config.maxBodyBytes,
  scrub: (text: string) => scrubber.scrub(text),
});

/** Claims the mirror, then takes over what earlier runs left. Returns their requests that were certainly not sent. */
export const takeMirror = async (
  link: MirrorLink,
  warehouse: Warehouse,
  reader: Pick<TakeOverDeps, "reading" | "redact" | "signal">,
): Promise<ReadonlySet<string>> => {
  const { clock } = link;
  const { signal } = reader;
  const patience = { clock, forMs: CLAIM_PATIENCE_MS, signal };
  const claimed = async () => {
    await patiently(() => readRedisTime(link).then(() => claim(link)), patience);
    return patiently(() => takeOver(warehouse, { ...link, ...reader }), patience);
  };
  return untilAborted(claimed(), signal);
};

/** Whether a loader of this mirror was killed, or left responses. */
const isLeftBehind = async ({ redis }: RedisConnection, mirror: string): Promise<boolean> => {
  const mailbox = openMailbox(redis, mirror);
  const [epoch, deliveries] = await Promise.all([mailbox.epoch(), mailbox.deliveries()]);
  return (epoch !== null && epoch !== ENDED) || deliveries.length > 0;
};

/** What was taken over from a loader. */
export interface TakenFromLoader {
  /** Its requests that were certainly not sent. */
  readonly unsent: ReadonlySet<string>;
  /** Call it when recovery has booked them: until then, the next run must find what this one found. */
  readonly close: () => Promise<void>;
}

/**
 * For a run that sends its requests itself: if a loader of the same mirror was killed, its fetchers send no more for
 * it, and its responses are taken over. Rejects with Redis's errors.
 */
export const takeFromLoader = async (
  over: { readonly asking: RedisConnection; readonly warn: (text: string) => void },
  config: Config,
  context: AccessContext,
  { warehouse, redact }: { readonly warehouse: Warehouse; readonly redact: Redactor | null },
): Promise<TakenFromLoader> => {
  const { clock, signal } = context;
  const mirror = await mirrorIdOf(config.dataDir);
  const patience = { clock, forMs: CLAIM_PATIENCE_MS, signal };
  if (!(await patiently(() => isLeftBehind(over.asking, mirror), patience)))
    return { unsent: new Set(), close: async () => undefined };
  const link = mirrorLink(over, mirror, config, context);
  const closeQueue = () => link.queue.close().catch(() => undefined);
  try {
    const unsent = await takeMirror(link, warehouse, { reading: readingOf(link), redact, signal });
    return { unsent, close: () => resign(link).finally(closeQueue) };
  } catch (error) {
    await closeQueue();
    throw error;
  }
};
