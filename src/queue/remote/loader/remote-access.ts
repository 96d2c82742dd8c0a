// Access to the service of the role load: fetchers send the requests, the warehouse stays here. One per run of the engine.
import type { OpenAccess } from "../../../../jobs/service-access.ts";
import type { Redactor } from "../../../api/redact.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import type { Warehouse } from "../../../warehouse/file/warehouse.ts";
import { openShared } from "../organizations.ts";
import { createArrivals } from "./arrivals.ts";
import { closeLink, type LoaderLink, openLink, type RemoteAccessOptions, resign } from "./link.ts";
import { checkForLosses, receivePages } from "./receive.ts";
import { createRemoteSender, type RemoteSender } from "./remote-sender.ts";
import { readingOf, takeMirror } from "./take-mirror.ts";
import type { TakeOverDeps } from "./take-over.ts";

/** Time limit for closing when Redis does not respond. */
const CLOSING_MS = 500;

type Reading = TakeOverDeps["reading"];

const senderOf = (link: LoaderLink, reading: Reading): RemoteSender => {
  const { config, asking, organization, clock, mirror, epoch } = link;
  const { throttle, ledger } = openShared(config, { connection: asking, organization, clock });
  const sender = { profile: config.profile, mirror, epoch };
  return createRemoteSender({ ...link, throttle, ledger, reading, sender, address: asking.address });
};

/** Ends what runs and closes, however Redis responds. */
const closeAll = async (link: LoaderLink, running: readonly (() => Promise<void>)[]): Promise<void> => {
  const forced = new AbortController();
  const force = link.clock.sleep(CLOSING_MS, forced.signal).catch(() => undefined);
  const closed = async () => {
    await resign(link);
    await Promise.allSettled(running.map((end) => end()));
  };
  await Promise.race([closed(), force]);
  forced.abort();
  await closeLink(link);
};

/**
 * Connects engine runs to the fetchers of the queue. Opening throws REDIS_UNAVAILABLE, REDIS_TOO_OLD, REDIS_EVICTS,
 * REDIS_REPLICA, BASE_URL_MISSING and DATA_DIR_UNWRITABLE.
 */
export const remoteAccess =
  (options: RemoteAccessOptions): OpenAccess =>
  async (config, context) => {
    const { baseUrl } = config;
    if (baseUrl === null) throw new DuckmirrorError("BASE_URL_MISSING");
    const link = await openLink(options, { ...config, baseUrl }, context);
    const reading = readingOf(link);
    const sender = senderOf(link, reading);
    const running: (() => Promise<void>)[] = [];
    return {
      sender,
      takeOver: async (warehouse: Warehouse, redact: Redactor | null) => {
        const unsent = await takeMirror(link, warehouse, { reading, redact, signal: context.signal });
        const { skewMs } = link.storeClock;
        const arrivals = createArrivals({ ...link, sender, warehouse, skewMs });
        running.push(receivePages(link, arrivals), checkForLosses(link, arrivals, sender));
        return unsent;
      },
      close: async () => {
        sender.end();
        await closeAll(link, running);
      },
    };
  };
