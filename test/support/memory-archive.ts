// An archive in memory, for simulations: nothing of it depends on how fast a disk is, so a seed replays exactly.
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type { ArchiveHeader, IntentRecord, Wire } from "../../src/warehouse/archive/archive.ts";
import type { ArchiveStore } from "../../src/warehouse/archive/read-archive.ts";

export interface MemoryArchive extends ArchiveStore {
  /** Whether the answer to this request was archived. */
  holds(requestId: string): boolean;
}

const decoded = ({ bytes, encoding }: Wire): Buffer => {
  if (encoding === "identity") return bytes;
  return encoding === "gzip" ? gunzipSync(bytes) : brotliDecompressSync(bytes);
};

/** `alive` throws once the simulated process is dead. `pause` takes the time of a disk, before and after each write. */
export const createMemoryArchive = (
  alive: () => void,
  pause: () => Promise<void> = async () => undefined,
): MemoryArchive => {
  const intents: IntentRecord[] = [];
  const responses: { readonly header: ArchiveHeader; readonly wire: Wire }[] = [];
  return {
    open: () => ({
      intent: async (record) => {
        await pause();
        alive();
        intents.push(record);
      },
      response: async (header: ArchiveHeader, wire: Wire) => {
        await pause();
        alive();
        responses.push({ header, wire });
        await pause();
      },
      flush: pause,
      close: async () => undefined,
    }),
    responses: async function* (runId) {
      for (const { header, wire } of responses) if (header.runId === runId) yield { header, body: decoded(wire) };
    },
    holds: (requestId) => responses.some(({ header }) => header.requestId === requestId),
    intents: async (runId) => intents.filter((intent) => intent.runId === runId),
  };
};

/** What the archive notes of a response. */
export const aHeader = (more: Partial<ArchiveHeader> = {}): ArchiveHeader => ({
  requestId: "q1",
  runId: "r",
  stream: "signals",
  scope: "",
  walkId: null,
  endpoint: "listSignals",
  url: "/v1/signals",
  detail: null,
  sentAt: 0,
  receivedAt: 0,
  status: 200,
  bytes: 0,
  ...more,
});
