// Sends traces with OpenTelemetry's SDK, which reads its own settings (OTEL_*) from the environment. Loaded only when
// traces are wanted (wanted.ts). A slow or missing collector delays no run by more than a moment, and fails none.

import {
  type Attributes,
  type Context,
  context as contexts,
  DiagLogLevel,
  diag,
  type Span as OtelSpan,
  type Tracer as OtelTracer,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { setGlobalErrorHandler } from "@opentelemetry/core";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from "@opentelemetry/sdk-trace-base";
import { endsWithin } from "../core/async/waiting.ts";
import type { Clock } from "../core/clock.ts";
import { detailOf } from "../core/errors.ts";
import type { Scrubber } from "../core/secret.ts";
import type { Span, SpanAttributes, SpanStart, Tracer } from "../core/tracing.ts";

/** Time limit for sending remaining spans at the end of a command, ms. */
const FLUSH_MS = 2_000;

export interface TracesOptions {
  readonly protocol: "http/protobuf" | "http/json";
  /** Address of the collector, for messages. */
  readonly collector: string;
  /** Version of duckmirror. */
  readonly version: string;
  readonly clock: Clock;
  readonly scrubber: Pick<Scrubber, "scrub">;
  /** W3C `traceparent` of the process that started this one; null: runs start their own traces. */
  readonly traceparent: string | null;
  /** Called once when spans do not arrive. */
  readonly warn: (text: string) => void;
}

export interface Traces {
  readonly tracer: Tracer;
  /**
   * Sends remaining spans within a short time limit. False: sending is unfinished and would keep the process alive.
   */
  close(): Promise<boolean>;
}

const KINDS = {
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

/** A `traceparent` of version 00 or later (W3C Trace Context, section 3.2); null when it is malformed. */
const parseTraceparent = (text: string): SpanContext | null => {
  const [, version, traceId, spanId, flags] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/.exec(text.trim()) ?? [];
  if (version === undefined || version === "ff" || traceId === undefined || spanId === undefined) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  const sampled = (Number.parseInt(flags ?? "0", 16) & TraceFlags.SAMPLED) !== 0;
  return { traceId, spanId, traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true };
};

const traceparentOf = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;

/** Context of a span in another process; `otherwise` when it is malformed or absent. */
const remoteContext = (text: string | null | undefined, otherwise: Context): Context => {
  const parent = text === null || text === undefined ? null : parseTraceparent(text);
  return parent === null ? otherwise : trace.setSpanContext(otherwise, parent);
};

const createExporter = async (protocol: TracesOptions["protocol"]): Promise<SpanExporter> => {
  const { OTLPTraceExporter } =
    protocol === "http/json"
      ? await import("@opentelemetry/exporter-trace-otlp-http")
      : await import("@opentelemetry/exporter-trace-otlp-proto");
  return new OTLPTraceExporter();
};

/** Calls `warn` only the first time. */
const once = (warn: (text: string) => void) => {
  let warned = false;
  return (text: string): void => {
    if (warned) return;
    warned = true;
    warn(text);
  };
};

/** The program's tracer interface over the library's tracer. */
const tracerOver = (tracer: OtelTracer, parent: Context, scrub: (text: string) => string): Tracer => {
  const clean = (attributes: SpanAttributes): Attributes => {
    const kept: Attributes = {};
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined) continue;
      if (typeof value === "number" || typeof value === "boolean") kept[name] = value;
      else kept[name] = typeof value === "string" ? scrub(value) : value.map(scrub);
    }
    return kept;
  };

  const start =
    (within: Context) =>
    (name: string, more: SpanStart = {}): Span => {
      const { kind = "internal", attributes = {}, startedAt, traceparent } = more;
      const begun = tracer.startSpan(
        name,
        {
          kind: KINDS[kind],
          attributes: clean(attributes),
          ...(startedAt === undefined ? {} : { startTime: startedAt }),
        },
        remoteContext(traceparent, within),
      );
      return spanOver(begun, trace.setSpan(within, begun));
    };

  const spanOver = (span: OtelSpan, within: Context): Span => ({
    start: start(within),
    traceparent: traceparentOf(span.spanContext()),
    set: (attributes) => void span.setAttributes(clean(attributes)),
    fail: (errorType) => {
      if (errorType === null) return;
      span.setAttribute("error.type", scrub(errorType));
      span.setStatus({ code: SpanStatusCode.ERROR });
    },
    end: (at) => span.end(at),
  });

  const outside = trace.getSpanContext(parent);
  return { start: start(parent), traceparent: outside === undefined ? null : traceparentOf(outside) };
};

/** Starts sending traces. Wrong settings cause a warning, never an error. */
export const startTraces = async (options: TracesOptions): Promise<Traces> => {
  const { protocol, collector, version, clock, scrubber, traceparent } = options;
  const scrub = (text: string) => scrubber.scrub(text);
  const safe = (text: string) => scrub(text.replace(/\/\/[^/\s@]*@/g, "//"));
  const complain = once((text) =>
    options.warn(`traces do not reach ${collector}, nothing else suffers: ${safe(text)}`),
  );
  const heed = once((text) => options.warn(`traces: ${safe(text)}`));
  // The library warns about settings it cannot read; its lower log levels would show attributes.
  diag.setLogger(
    { error: heed, warn: heed, info: () => undefined, debug: () => undefined, verbose: () => undefined },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  setGlobalErrorHandler((error) => complain(problemText(error)));

  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": "duckmirror", "service.version": version }))
    // Only configured attributes: nothing is detected about the machine, its user or the command line.
    .merge(detectResources({ detectors: [envDetector] }));
  const provider = new BasicTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(await createExporter(protocol))],
  });
  const root = remoteContext(traceparent, contexts.active());
  return {
    tracer: tracerOver(provider.getTracer("duckmirror", version), root, scrub),
    close: async () => {
      const flushed = provider.shutdown().catch((error: unknown) => complain(problemText(error)));
      const ended = await endsWithin(flushed, FLUSH_MS, clock);
      if (!ended) complain(`it has not taken them within ${FLUSH_MS / 1000} s`);
      return ended;
    },
  };
};

/** Several addresses of one name fail together; report the first. */
const problemText = (error: unknown): string => {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  return detailOf(first);
};
