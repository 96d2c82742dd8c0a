// An archive in memory, for simulations: nothing of it depends on how fast a disk is, so a seed replays exactly.
import type { ArchiveHeader, IntentRecord, Wire } from "../../src/warehouse/archive/archive.ts";
import type { ArchiveStore } from "../../src/warehouse/archive/archive-store.ts";

export interface MemoryArchive extends ArchiveStore {
  /** Whether the answer to this request was archived. */
  holds(requestId: string): boolean;
}

/**
 * Bodies must come uncompressed. `alive` throws once the simulated process is dead. `pause` takes the time of a disk, before
 * and after each write.
 */
export const createMemoryArchive = (
  alive: () => void,
  pause: () => Promise<void> = async () => undefined,
): MemoryArchive => {
  const intents: IntentRecord[] = [];
  const responses: { readonly header: ArchiveHeader; readonly body: Buffer }[] = [];
  return {
    open: () => ({
      intent: async (record) => {
        await pause();
        alive();
        intents.push(record);
      },
      response: async (header: ArchiveHeader, wire: Wire) => {
        if (wire.encoding !== "identity") throw new TypeError("the memory archive keeps plain bodies");
        await pause();
        alive();
        responses.push({ header, body: wire.bytes });
        await pause();
      },
      flush: pause,
      close: async () => undefined,
    }),
    responses: async function* (runId) {
      for (const response of responses) if (response.header.runId === runId) yield response;
    },
    holds: (requestId) => responses.some(({ header }) => header.requestId === requestId),
    intents: async (runId) => intents.filter((intent) => intent.runId === runId),
  };
};
