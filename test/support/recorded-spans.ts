// A tracer that keeps its spans.
import type { Span, SpanAttributes, SpanStart, Tracer } from "../../src/core/tracing.ts";

export interface RecordedSpan {
  readonly name: string;
  readonly start: SpanStart;
  /** Those of the start, and those that were set later. */
  readonly attributes: Record<string, SpanAttributes[string]>;
  readonly failures: (string | null)[];
  ended: boolean;
}

/** `traceparent`: of each span. */
export const recordingTracer = (traceparent: string | null = "span") => {
  const spans: RecordedSpan[] = [];
  const start = (name: string, more: SpanStart = {}): Span => {
    const recorded: RecordedSpan = {
      name,
      start: more,
      attributes: { ...more.attributes },
      failures: [],
      ended: false,
    };
    spans.push(recorded);
    return {
      start,
      traceparent,
      set: (attributes) => void Object.assign(recorded.attributes, attributes),
      fail: (errorType) => void recorded.failures.push(errorType),
      end: () => {
        recorded.ended = true;
      },
    };
  };
  const tracer: Tracer = { start, traceparent: null };
  return { tracer, spans };
};
