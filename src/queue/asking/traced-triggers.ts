// Adds a trace span to each request for a sync; the spans of its later work belong to it. The engine and the jobs at the end of a
// sync have their own spans (src/sync/request/tracing.ts, take-jobs.ts).
import { inSpan, noTracer, type Tracer } from "../../core/tracing.ts";
import type { Triggers } from "./asks.ts";

/** Triggers with a span around each request. */
export const tracedTriggers = <T extends Pick<Triggers, "start">>(triggers: T, tracer: Tracer = noTracer): T => ({
  ...triggers,
  start: (ask) =>
    inSpan(
      tracer,
      "trigger",
      async (span) => {
        const traceparent = span.traceparent ?? ask.traceparent;
        const started = await triggers.start({ ...ask, traceparent });
        span.set({ "duckmirror.run.id": started.runId, "duckmirror.joined": started.joined });
        return started;
      },
      { kind: "producer", traceparent: ask.traceparent, attributes: { "duckmirror.profile": ask.profile } },
    ),
});
