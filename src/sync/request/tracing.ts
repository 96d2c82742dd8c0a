// Wraps sender and warehouse of a run in trace spans: requests, waits for the rate, commits, publishing. Names and attributes follow
// OpenTelemetry's conventions for HTTP clients, except where they could identify people: the route template replaces path and query.

import type { ApiOutcome } from "../../api/outcome.ts";
import { chargeOf } from "../../api/retry-policy.ts";
import { ENDPOINTS } from "../../catalog/endpoints.ts";
import type { Clock } from "../../core/clock.ts";
import { inSpan, noTracer, type Span, type SpanAttributes, type Tracer } from "../../core/tracing.ts";
import type { Warehouse } from "../../warehouse/file/warehouse.ts";
import type { LoadCounts } from "../../warehouse/record/checkpoint.ts";
import type { OutgoingRequest, Sender, SendResult } from "./turn.ts";

/** Shorter waits for a slot get no span, ms. */
const NOTABLE_WAIT_MS = 5;

/** `server.address` and `server.port` of the service; empty without an address. */
const serverOf = (baseUrl: string | null): SpanAttributes => {
  if (baseUrl === null || !URL.canParse(baseUrl)) return {};
  const { hostname, port, protocol } = new URL(baseUrl);
  const usual = protocol === "https:" ? 443 : 80;
  return { "server.address": hostname, "server.port": port === "" ? usual : Number(port) };
};

const requestAttributes = ({ requestId, runId, call, stream, attempt = 1 }: OutgoingRequest): SpanAttributes => {
  const { method, path } = ENDPOINTS[call.endpoint];
  return {
    "http.request.method": method,
    "url.template": path,
    // By convention absent on the first attempt.
    "http.request.resend_count": attempt > 1 ? attempt - 1 : null,
    "duckmirror.stream": stream,
    "duckmirror.run.id": runId,
    // With this id, readers of the mirror find the whole address in sync.requests.
    "duckmirror.request.id": requestId,
  };
};

const outcomeAttributes = (outcome: ApiOutcome): SpanAttributes => ({
  "http.response.status_code": outcome.status,
  "http.response.body.size": outcome.kind === "broken" ? null : outcome.bytes,
  "duckmirror.charge": chargeOf(outcome),
  "duckmirror.rows": outcome.kind === "ok" && Array.isArray(outcome.data) ? outcome.data.length : null,
});

/** `error.type`; null: no error. A 404 is an answer to the question whether a record is gone. */
const errorOf = (outcome: ApiOutcome): string | null => {
  if (outcome.kind === "ok") return null;
  if (outcome.kind === "broken") return outcome.reason;
  if (outcome.kind === "invalid") return "RESPONSE_INVALID";
  return outcome.status === 404 ? null : String(outcome.status);
};

const setOutcome = (span: Span, result: SendResult): void => {
  if (result.kind === "outcome") {
    span.set(outcomeAttributes(result.outcome));
    span.fail(errorOf(result.outcome));
  } else {
    span.set({ "duckmirror.charge": "free" });
    span.fail(result.kind === "denied" ? result.error.code : "INTERRUPTED");
  }
};

/** The sender with a span around every request and every wait for a slot. */
export const tracedSender = (
  sender: Sender,
  { tracer, clock, baseUrl }: { readonly tracer: Tracer; readonly clock: Clock; readonly baseUrl: string | null },
): Sender => {
  if (tracer === noTracer) return sender;
  const server = serverOf(baseUrl);
  return {
    ...sender,
    acquire: async (signal, onWait) => {
      const startedAt = clock.now();
      try {
        await sender.acquire(signal, onWait);
      } finally {
        const now = clock.now();
        if (now - startedAt >= NOTABLE_WAIT_MS) {
          tracer.start("wait", { startedAt, attributes: { "duckmirror.wait.reason": "rate" } }).end(now);
        }
      }
    },
    send: (request, ends) => {
      const { method, path } = ENDPOINTS[request.call.endpoint];
      const send = async (span: Span) => {
        const result = await sender.send(request, ends);
        setOutcome(span, result);
        return result;
      };
      const attributes = { ...requestAttributes(request), ...server };
      return inSpan(tracer, `${method} ${path}`, send, { kind: "client", attributes });
    },
  };
};

const ROW_COUNTS = ["inserted", "updated", "unchanged", "rejected"] as const;

const sumOf = (counts: readonly LoadCounts[], name: (typeof ROW_COUNTS)[number]): number =>
  counts.reduce((total, count) => total + count[name], 0);

/** The warehouse with a span around every commit and every publish. */
export const tracedWarehouse = (warehouse: Warehouse, tracer: Tracer): Warehouse => {
  if (tracer === noTracer) return warehouse;
  const published = <T extends { readonly bytes: number } | null>(publish: () => Promise<T>): Promise<T> =>
    inSpan(tracer, "publish", async (span) => {
      const snapshot = await publish();
      if (snapshot !== null) span.set({ "duckmirror.snapshot.bytes": snapshot.bytes });
      return snapshot;
    });
  return {
    ...warehouse,
    commit: (checkpoint) =>
      inSpan(tracer, "commit", async (span) => {
        const counts = await warehouse.commit(checkpoint);
        const rows = ROW_COUNTS.map((name) => [`duckmirror.rows.${name}`, sumOf(counts, name)] as const);
        const about = { "duckmirror.run.id": checkpoint.runId, "duckmirror.requests": checkpoint.requests.length };
        span.set({ ...about, ...Object.fromEntries(rows) });
        return counts;
      }),
    publish: () => published(() => warehouse.publish()),
    publishNews: (runId, policy) => published(() => warehouse.publishNews(runId, policy)),
  };
};
