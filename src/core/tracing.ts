// Tracing as the program sees it: spans with attributes, one inside the other. Knows no library: src/telemetry sends
// them where somebody wants them, else `noTracer` is passed and nothing happens. PURE.
import { DuckmirrorError } from "./errors.ts";

/** Never a token, an address with a query, an id of a person or a text of the service: attributes leave the machine. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

export interface SpanStart {
  /** Default: internal. */
  readonly kind?: "internal" | "client" | "producer" | "consumer";
  readonly attributes?: SpanAttributes;
  /** ms since the epoch; unset: now. */
  readonly startedAt?: number;
  /** W3C `traceparent` of a span of another process that this one belongs to; one that is malformed is ignored. */
  readonly traceparent?: string | null | undefined;
}

/** Starts spans, inside the span that it is, if it is one. */
export interface Tracer {
  start(name: string, more?: SpanStart): Span;
  /** W3C `traceparent`, to be handed to other processes of duckmirror; null: nothing is traced. */
  readonly traceparent: string | null;
}

export interface Span extends Tracer {
  /** Adds attributes; null and undefined ones are left out. */
  set(attributes: SpanAttributes): void;
  /** It went wrong: a code, class or status, never a text. null: it did not. */
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

/** Traces nothing. */
export const noTracer: Tracer = noSpan;

/** What went wrong, in a word that is safe to send: a code of ours or the class of an error. */
export const errorTypeOf = (error: unknown): string => {
  if (error instanceof DuckmirrorError) return error.code;
  return error instanceof Error ? error.name : "UNEXPECTED";
};

/** Does `work` in a span that ends with it, as failed when it throws. Throws what `work` throws. */
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
