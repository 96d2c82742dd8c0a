// Arrivals at a loader: passes every response in the mailbox to its waiting request, and drops it when it is durable
// here. A second response to a request is only charged.
import { ENDPOINTS } from "../../../catalog/endpoints.ts";
import { isStreamName } from "../../../catalog/streams.ts";
import type { Clock } from "../../../core/clock.ts";
import { lostAttemptRows, paidRow } from "../../../sync/request/ledger-rows.ts";
import type { Warehouse } from "../../../warehouse/file/warehouse.ts";
import type { RequestRecord } from "../../../warehouse/record/checkpoint.ts";
import { deliveryId, type Mailbox } from "../mailbox.ts";
import type { Packed } from "../packed-answer.ts";
import { patiently } from "../patience.ts";
import { openAnswer } from "../sealed-answers.ts";
import type { Seals } from "../seals.ts";
import type { RemoteSender } from "./remote-sender.ts";

/** Text about an answer that is dropped unread. */
export const strangeAnswer = (delivery: string): string =>
  `Redis holds an answer (${delivery}) that no fetcher of this organization wrote: it is dropped unread`;

/** Ledger row of a response after another one, or after its run; null: it cost nothing. */
const lateRequest = ({ note, body }: Packed, skewMs: number): RequestRecord | null => {
  const { request, nth, result, sentAt } = note;
  if (result.kind !== "wire" || !isStreamName(request.stream)) return null;
  const { runId, stream, scope, url } = request;
  const endpoint = ENDPOINTS[request.endpoint].path;
  const requestId = `${request.requestId}.late${nth}`;
  return paidRow(
    { requestId, runId, stream, scope, endpoint, url, work: null, startedAt: sentAt - skewMs },
    {
      status: 200,
      durationMs: result.durationMs,
      bytes: body.length,
      rows: 0,
      error: "answered twice, or after the run had ended: not loaded",
    },
  );
};

/** Records the charge of a response that is not loaded. */
export const account = async (warehouse: Warehouse, packed: Packed, skewMs: number): Promise<void> => {
  const row = lateRequest(packed, skewMs);
  if (row === null) return;
  await warehouse.commit({ runId: row.runId, loads: [], requests: [row], scopes: [], quota: null });
};

/**
 * Records the attempts before a response that an earlier run waited for: their fetchers died, and each may have cost a
 * credit. Repeating it changes nothing.
 */
export const accountLost = async (warehouse: Warehouse, { note }: Packed, skewMs: number): Promise<void> => {
  const { request, nth, sentAt } = note;
  const { requestId, runId, stream, scope, url } = request;
  if (nth <= 1 || !isStreamName(stream)) return;
  const endpoint = ENDPOINTS[request.endpoint].path;
  const sent = { requestId, runId, stream, scope, endpoint, url, work: null, startedAt: sentAt - skewMs };
  const lost = lostAttemptRows(sent, nth - 1);
  await warehouse.commit({ runId, loads: [], requests: lost, scopes: [], quota: null });
};

export interface Arrivals {
  /** A response is in the mailbox. Resolves when it is handled; it may be announced again. */
  arrive(delivery: string): Promise<void>;
  /** Responses being handled. */
  underWay(): ReadonlySet<string>;
}

/** Time for which Redis may be away before a response waits for the next run instead. */
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
  /** Handled, even if Redis could not be informed. */
  const finished = new Set<string>();

  const take = async (delivery: string): Promise<void> => {
    const answer = await patiently(() => openAnswer(deps, delivery), patience);
    if (answer.kind === "none") return;
    if (answer.kind === "unread") {
      // It stays for a loader that reads it; a run of this one must not wait for ever.
      sender.pending().get(requestOf(delivery))?.resolve({ kind: "denied", error: answer.error });
      return;
    }
    if (answer.kind === "strange") {
      warn(strangeAnswer(delivery));
      return patiently(() => mailbox.drop(delivery, null), patience);
    }
    const { packed } = answer;
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

/** The request that a delivery answers. */
const requestOf = (delivery: string): string => delivery.slice(0, delivery.lastIndexOf("."));

/** Possible responses to a request: it was sent once, again after its sender died, or never. */
export const deliveriesOf = (requestId: string, deliveries: readonly string[]): readonly string[] =>
  deliveries.filter((delivery) => delivery.startsWith(deliveryId(requestId, 0).slice(0, -1)));
