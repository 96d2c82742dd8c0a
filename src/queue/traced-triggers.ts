// Triggers as spans: what comes of an ask belongs to it. The engine and the jobs at the end of a sync have spans of their own
// (src/sync/request/tracing.ts, job-span.ts).
import { inSpan, noTracer, type Tracer } from "../core/tracing.ts";
import type { Triggers } from "./asks.ts";

/** Triggers whose asks are spans; what comes of an ask belongs to it. */
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
