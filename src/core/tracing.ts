// Interface for tracing: nested spans with attributes. Independent of any library: src/telemetry sends spans if
// configured; otherwise `noTracer` does nothing. PURE.
import { DuckmirrorError } from "./errors.ts";

/**
 * Attributes leave the machine, so they never hold a token, an address with a query, a person's id or a text of the
 * service.
 */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

export interface SpanStart {
  /** Default: internal. */
  readonly kind?: "internal" | "client" | "producer" | "consumer";
  readonly attributes?: SpanAttributes;
  /** ms since the epoch; unset: now. */
  readonly startedAt?: number;
  /** W3C `traceparent` of the parent span in another process; a malformed one is ignored. */
  readonly traceparent?: string | null | undefined;
}

/** Starts spans; a span starts child spans. */
export interface Tracer {
  start(name: string, more?: SpanStart): Span;
  /** W3C `traceparent` for other duckmirror processes; null: no tracing. */
  readonly traceparent: string | null;
}

export interface Span extends Tracer {
  /** Adds attributes; null and undefined ones are left out. */
  set(attributes: SpanAttributes): void;
  /** Marks a failure with a code, class or status, never a text. null: no failure. */
  fail(errorType: string | null): void;
  /** `at`: ms since the epoch; unset: now. */
  end(at?: number): void;
}

const noSpan: Span = {
  start: () => noSpan,
  traceparent: null,
  set: () => undefined,
  fail: () => undefined,
  end: () => undefined,
};

/** Does nothing. */
export const noTracer: Tracer = noSpan;

/** The kind of an error as a word that is safe to send: a code of ours, or the class of the error. */
export const errorTypeOf = (error: unknown): string => {
  if (error instanceof DuckmirrorError) return error.code;
  return error instanceof Error ? error.name : "UNEXPECTED";
};

/** Runs `work` in a span that ends with it, failed if `work` throws. Throws the errors of `work`. */
export const inSpan = async <T>(
  tracer: Tracer,
  name: string,
  work: (span: Span) => Promise<T>,
  more: SpanStart = {},
): Promise<T> => {
  const span = tracer.start(name, more);
  try {
    return await work(span);
  } catch (error) {
    span.fail(errorTypeOf(error));
    throw error;
  } finally {
    span.end();
  }
};
