import { expect, test } from "vitest";
import { DuckmirrorError } from "../../../src/core/errors.ts";
import { errorTypeOf, inSpan, noTracer, type Span, type Tracer } from "../../../src/core/tracing.ts";

/** A tracer that notes what happens, in order. */
const aTracer = () => {
  const log: string[] = [];
  const tracer: Tracer = {
    traceparent: null,
    start: (name) => {
      log.push(`start ${name}`);
      const span: Span = {
        start: tracer.start,
        traceparent: "t",
        set: () => undefined,
        fail: (errorType) => void log.push(`fail ${errorType}`),
        end: () => void log.push(`end ${name}`),
      };
      return span;
    },
  };
  return { tracer, log };
};

test("work runs between the start and the end of its span, and its result is returned", async () => {
  const { tracer, log } = aTracer();
  const result = await inSpan(tracer, "job", async ({ traceparent }) => {
    log.push("work");
    return traceparent;
  });
  expect([result, log]).toEqual(["t", ["start job", "work", "end job"]]);
});

test("work that throws marks its span as failed, ends it, and throws the same error", async () => {
  const { tracer, log } = aTracer();
  const error = new DuckmirrorError("INTERRUPTED");
  await expect(inSpan(tracer, "job", () => Promise.reject(error))).rejects.toBe(error);
  expect(log).toEqual(["start job", "fail INTERRUPTED", "end job"]);
});

test("an error leaves the machine as its code or its class, never as its text", () => {
  expect(errorTypeOf(new DuckmirrorError("REQUEST_FAILED", { endpoint: "e", detail: "ann@a.example" }))).toBe(
    "REQUEST_FAILED",
  );
  expect(errorTypeOf(new TypeError("ann@a.example"))).toBe("TypeError");
  expect(errorTypeOf("ann@a.example")).toBe("UNEXPECTED");
});

test("without tracing, spans of spans do nothing, and work runs all the same", async () => {
  const span = noTracer.start("a").start("b");
  span.set({ x: 1 });
  span.fail("X");
  span.end();
  expect(span.traceparent).toBeNull();
  expect(await inSpan(noTracer, "job", async () => 7)).toBe(7);
});
