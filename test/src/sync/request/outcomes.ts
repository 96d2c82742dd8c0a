// Outcomes of requests, and a sender, for tests of what becomes of a response.
import type { ApiOutcome, BrokenOutcome, OkOutcome, RefusedOutcome } from "../../../../src/api/outcome.ts";
import type { Sender, SendResult } from "../../../../src/sync/request/turn.ts";

export const LIST = { endpoint: "listSignals", path: "/v1/signals", query: {} } as const;

const answered = { call: LIST, sentAt: 5, durationMs: 1, bytes: 2, rate: null } as const;

/** A 200 with an empty list. */
export const ok: OkOutcome = {
  ...answered,
  kind: "ok",
  status: 200,
  data: [],
  included: null,
  page: { page: null, perPage: null, totalCount: null, totalPages: null },
  usage: null,
  timestamp: null,
  envelope: {},
  wire: { bytes: Buffer.from("{}"), encoding: "identity" },
};

export const refused = (status: number, more: Partial<RefusedOutcome> = {}): RefusedOutcome => ({
  ...answered,
  kind: "refused",
  status,
  excerpt: "",
  usage: null,
  ...more,
});

export const broken = (reason: BrokenOutcome["reason"], more: Partial<BrokenOutcome> = {}): BrokenOutcome => ({
  ...{ kind: "broken", call: LIST, sentAt: 5, durationMs: 1, reached: "unknown", status: null, reason, detail: "x" },
  ...more,
});

export const outcome = (of: ApiOutcome): SendResult => ({ kind: "outcome", outcome: of });

/** Sends at once, and gets an empty list each time. */
export const aSender = (parts: Partial<Sender> = {}): Sender => ({
  acquire: async () => undefined,
  releaseSlot: () => undefined,
  send: async () => outcome(ok),
  observe: () => undefined,
  backOff: () => undefined,
  ...parts,
});
