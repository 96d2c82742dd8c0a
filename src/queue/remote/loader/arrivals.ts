// Arrivals at a loader: every answer in the mailbox goes to the request that waits for it, and is dropped when it is
// durable here. One that nobody waits for, because its request was answered twice, is only accounted for.
import { ENDPOINTS } from "../../../api/endpoints.ts";
import { isStreamName } from "../../../catalog/streams.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Warehouse } from "../../../warehouse/file/warehouse.ts";
import type { RequestRecord } from "../../../warehouse/record/checkpoint.ts";
import type { Packed } from "../answers.ts";
import { openLetter } from "../letters.ts";
import { deliveryId, type Mailbox } from "../mailbox.ts";
import { patiently } from "../patience.ts";
import type { Seals } from "../seals.ts";
import type { RemoteSender } from "./remote-sender.ts";

/** What is said of a letter that is dropped unread. */
export const strangeLetter = (delivery: string): string =>
  `Redis holds an answer (${delivery}) that no fetcher of this organization wrote: it is dropped unread`;

/** Ledger row of an answer that came after another one, or after its run had ended; null: it cost nothing. */
const lateRequest = ({ note, body }: Packed, skewMs: number): RequestRecord | null => {
  const { request, nth, result, sentAt } = note;
  if (result.kind !== "wire" || !isStreamName(request.stream)) return null;
  return {
    requestId: `${request.requestId}.late${nth}`,
    runId: request.runId,
    stream: request.stream,
    scope: request.scope,
    endpoint: ENDPOINTS[request.endpoint].path,
    url: request.url,
    status: 200,
    charge: "spent",
    startedAt: sentAt - skewMs,
    durationMs: result.durationMs,
    bytes: body.length,
    rows: 0,
    attempt: 1,
    error: "answered twice, or after the run had ended: not loaded",
  };
};

/** Notes what an answer cost that is not loaded. */
export const account = async (warehouse: Warehouse, packed: Packed, skewMs: number): Promise<void> => {
  const row = lateRequest(packed, skewMs);
  if (row === null) return;
  await warehouse.commit({ runId: row.runId, loads: [], requests: [row], scopes: [], quota: null });
};

export interface Arrivals {
  /** An answer lies in the mailbox. Resolves when it is dealt with; the same one may be announced again. */
  arrive(delivery: string): Promise<void>;
  /** Answers that are being dealt with. */
  underWay(): ReadonlySet<string>;
}

/** How long Redis may be away before an answer waits for the next run instead. */
const PATIENCE_MS = 30_000;

export const createArrivals = (deps: {
  readonly clock: Clock;
  readonly mailbox: Mailbox;
  readonly seals: Seals;
  readonly mirror: string;
  readonly warn: (text: string) => void;
  readonly sender: RemoteSender;
  readonly warehouse: Warehouse;
  readonly skewMs: () => number;
}): Arrivals => {
  const { clock, mailbox, warn, sender, warehouse, skewMs } = deps;
  const patience = { clock, forMs: PATIENCE_MS };
  const underWay = new Set<string>();
  /** Durable or accounted for, even where Redis could not be told. */
  const finished = new Set<string>();

  const take = async (delivery: string): Promise<void> => {
    const letter = await patiently(() => openLetter(deps, delivery), patience);
    if (letter.kind === "none") return;
    if (letter.kind === "strange") {
      warn(strangeLetter(delivery));
      return patiently(() => mailbox.drop(delivery, null), patience);
    }
    const { packed } = letter;
    const { requestId } = packed.note.request;
    if (!finished.has(delivery)) {
      const fate = await sender.deliver(packed);
      if (fate === "left") return;
      if (fate === "unwanted") await account(warehouse, packed, skewMs());
      finished.add(delivery);
    }
    await patiently(() => mailbox.drop(delivery, requestId), patience);
    finished.delete(delivery);
  };

  return {
    arrive: async (delivery) => {
      if (underWay.has(delivery)) return;
      underWay.add(delivery);
      await take(delivery).finally(() => underWay.delete(delivery));
    },
    underWay: () => underWay,
  };
};

/** The answers a request may have: it was sent once, or again when who sent it had died, or never. */
export const deliveriesOf = (requestId: string, deliveries: readonly string[]): readonly string[] =>
  deliveries.filter((delivery) => delivery.startsWith(deliveryId(requestId, 0).slice(0, -1)));
