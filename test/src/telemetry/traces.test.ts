// The port of spans over OpenTelemetry's SDK, as a collector receives them.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { DuckmirrorError } from "../../../src/core/errors.ts";
import { createScrubber } from "../../../src/core/secret.ts";
import { inSpan } from "../../../src/core/tracing.ts";
import { startTraces, type Traces } from "../../../src/telemetry/traces.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../../support/otlp-receiver.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;

let receiver: OtlpReceiver;
let warnings: string[];
beforeEach(async () => {
  receiver = await startOtlpReceiver();
  warnings = [];
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await receiver.close();
});

const start = (traceparent: string | null = null): Promise<Traces> => {
  const scrubber = createScrubber();
  scrubber.hide("hush-hush");
  const warn = (text: string) => void warnings.push(text);
  const own = { collector: receiver.url, version: "1", clock: systemClock };
  return startTraces({ ...own, protocol: "http/json", scrubber, traceparent, warn });
};

test("spans stand in one another, and in the span that was named", async () => {
  const traces = await start(PARENT);
  const outer = traces.tracer.start("outer");
  outer.start("inner", { kind: "client" }).end();
  outer.start("elsewhere", { traceparent: "00-11111111111111111111111111111111-2222222222222222-01" }).end();
  outer.end();
  expect(outer.traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
  expect(await traces.close()).toBe(true);
  const [inner, elsewhere, root] = receiver.spans();
  expect(root).toMatchObject({ name: "outer", traceId: TRACE, parentSpanId: "b7ad6b7169203331", kind: 1 });
  expect(inner).toMatchObject({ name: "inner", traceId: TRACE, parentSpanId: root?.spanId, kind: 3 });
  expect(elsewhere).toMatchObject({ traceId: "1".repeat(32), parentSpanId: "2".repeat(16) });
  expect(warnings).toEqual([]);
});

test.each([
  "",
  "nonsense",
  PARENT.toUpperCase(),
  `ff${PARENT.slice(2)}`,
  `00-${"0".repeat(32)}-b7ad6b7169203331-01`,
  `00-${TRACE}-${"0".repeat(16)}-01`,
  `${PARENT} hush`,
])("a malformed traceparent (%s) is as good as none", async (text) => {
  const traces = await start(text);
  traces.tracer.start("alone").end();
  await traces.close();
  const [span] = receiver.spans();
  expect(span?.parentSpanId).toBe("");
  expect(span?.traceId).not.toBe(TRACE);
});

test("a caller that asked without sampling is not traced either", async () => {
  const traces = await start(`${PARENT.slice(0, -2)}00`);
  const span = traces.tracer.start("unsampled");
  span.end();
  expect(span.traceparent).toMatch(/-00$/);
  await traces.close();
  expect(receiver.requests).toEqual([]);
});

test("attributes are kept as they are, without secrets and without empty ones", async () => {
  const traces = await start();
  const span = traces.tracer.start("said", { attributes: { text: "say hush-hush", none: null, missing: undefined } });
  span.set({ count: 3, share: 0.5, yes: true, names: ["hush-hush", "loud"] });
  span.end();
  await traces.close();
  expect(receiver.spans()[0]?.attributes).toEqual({
    text: "say [hidden]",
    count: 3,
    share: 0.5,
    yes: true,
    names: ["[hidden]", "loud"],
  });
});

test.each([
  ["its class", new TypeError("contact zoe@example.com is wrong"), "TypeError"],
  ["its code", new DuckmirrorError("REQUEST_FAILED", { endpoint: "e", detail: "zoe@example.com" }), "REQUEST_FAILED"],
  ["no more than that", "zoe@example.com", "UNEXPECTED"],
])("what throws ends its span as failed, with %s and not its words", async (_, error, type) => {
  const traces = await start();
  await expect(inSpan(traces.tracer, "broken", () => Promise.reject(error))).rejects.toBe(error);
  await traces.close();
  const [span] = receiver.spans();
  expect(span).toMatchObject({ attributes: { "error.type": type }, status: { code: 2 } });
  expect(receiver.requests.map(({ body }) => body.toString("utf8")).join()).not.toContain("zoe");
});

test("a span can have been and gone: its times are those that are given", async () => {
  const traces = await start();
  traces.tracer.start("wait", { startedAt: 1_700_000_000_000 }).end(1_700_000_002_500);
  await traces.close();
  const [span] = receiver.spans();
  expect(span?.startTimeUnixNano).toBe(1_700_000_000_000_000_000n);
  expect((span?.endTimeUnixNano ?? 0n) - (span?.startTimeUnixNano ?? 0n)).toBe(2_500_000_000n);
});

test("a collector that refuses is complained of once", async () => {
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", `${receiver.url}/missing?refuse`);
  vi.stubEnv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1");
  const traces = await start();
  for (let n = 0; n < 3; n += 1) traces.tracer.start("refused").end();
  await traces.close();
  expect(warnings).toEqual([expect.stringMatching(/^traces do not reach http:\S+, nothing else suffers: .+/)]);
});
