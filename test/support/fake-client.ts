// The fake service as an API client, without sockets, and a run without settings: for tests that give a sync its parts.
import type { Client } from "../../src/api/client.ts";
import { readEnvelope } from "../../src/api/envelope.ts";
import type { ApiOutcome } from "../../src/api/outcome.ts";
import type { StreamName } from "../../src/catalog/streams.ts";
import type { Clock } from "../../src/core/clock.ts";
import type { KnownTier } from "../../src/core/state/tier.ts";
import type { SyncOptions } from "../../src/sync/run/state/run-input.ts";
import type { FakeService } from "./fake-service.ts";

export interface FakeClientOptions {
  /**
   * Called before a request is answered: `lost` takes the answer away after the service has charged for it, a status
   * refuses it at no charge.
   */
  readonly fate?: () => "arrives" | "lost" | 429 | 500 | 503;
  /** Delivers answers in another order than asked: resolves when this one may come. */
  readonly delay?: () => Promise<void>;
}

export const createFakeClient = (service: FakeService, clock: Clock, options: FakeClientOptions = {}): Client => ({
  send: async (call): Promise<ApiOutcome> => {
    const sentAt = clock.now();
    await options.delay?.();
    const fate = options.fate?.() ?? "arrives";
    const answer =
      typeof fate === "number" ? { status: fate, body: { error: "refused" } } : service.answer(call.path, call.query);
    const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
    const base = { call, sentAt, durationMs: 0 };
    if (fate === "lost") {
      return { ...base, kind: "broken", reached: "unknown", status: null, reason: "reset", detail: "connection reset" };
    }
    const bytes = Buffer.byteLength(text);
    if (answer.status !== 200) {
      return {
        ...base,
        kind: "refused",
        status: answer.status,
        bytes,
        rate: null,
        excerpt: text.slice(0, 2048),
        usage: null,
      };
    }
    const wire = { bytes: Buffer.from(text), encoding: "identity" } as const;
    const reading = readEnvelope(text, call.endpoint);
    if (!reading.ok) return { ...base, kind: "invalid", status: 200, bytes, rate: null, detail: reading.detail, wire };
    return { ...base, ...reading.value, kind: "ok", status: 200, bytes, rate: null, wire };
  },
  close: async () => undefined,
});

/** Options of a sync of these lists. */
export const plainRun = (streams: readonly StreamName[], more: Partial<SyncOptions> = {}): SyncOptions => ({
  runId: null,
  reset: [],
  streams,
  named: false,
  configured: streams,
  full: false,
  companies: [],
  content: [],
  view: "default",
  maxAgeMs: {},
  reconcileEveryMs: 1e15,
  budgets: {},
  rowScope: {},
  usage: { historyDays: 30, breakdowns: ["endpoint"] },
  eraseOutside: false,
  publish: { everyMs: 0, belowBytes: 0 },
  largestPage: 40,
  maxShare: 1,
  allowMassDelete: true,
  concurrency: 5,
  largeInFlight: 8,
  archiveLimits: null,
  historyRetentionDays: null,
  ledgerRetentionDays: null,
  ...more,
});

const FULL_ACCESS: KnownTier = { tier: "full", since: 0, evidence: "", seen_at: 0, doubted_at: null };
/** An organization with Full Access, whatever its lists hold. */
export const fullAccess = { known: FULL_ACCESS, learn: async () => FULL_ACCESS };
