// Traces across processes: the caller and the worker, in one trace.

import { expect, test } from "vitest";
import { forFile } from "../support/for-file.ts";
import { type ReceivedSpan, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { startRedis } from "../support/redis.ts";
import { aSandbox, runBuilt, startServing, WORKER, workerEnv } from "./built-cli.ts";

const sandbox = await aSandbox({ seed: 43, accounts: 3 });
const redis = await forFile(startRedis());
const receiver = await forFile(startOtlpReceiver());

/** How long the last export took, as the worker's metrics tell it. */
const exportSeconds = async (url: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^duckmirror_export_seconds\{profile="default"\} (\S+)$/m.exec(text)?.[1]);
};

const only = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
  const [span, ...more] = spans.filter((each) => each.name === name);
  if (span === undefined || more.length > 0) throw new Error(`${1 + more.length} spans of ${name}`);
  return span;
};

/** The trace holds the caller's trigger, the worker's run below it, and what follows from the run. */
const isOneTrace = async (trace: string, caller: string) => {
  const exported = await receiver.until("job export", trace);
  const spans = receiver.spans().filter(({ traceId }) => traceId === trace);
  const trigger = only(spans, "trigger");
  expect(trigger.parentSpanId).toBe(caller);
  const run = only(spans, "sync");
  expect(run.attributes["duckmirror.run.id"]).toBe(trigger.attributes["duckmirror.run.id"]);
  const below = [run, only(spans, "job publish"), exported].map(({ parentSpanId }) => parentSpanId);
  expect(below).toEqual([trigger.spanId, trigger.spanId, trigger.spanId]);
  expect(spans.some(({ parentSpanId, kind }) => parentSpanId === run.spanId && kind === 3)).toBe(true);
};

test.each(["without Redis", "with Redis"])(
  "a worker's run, publish and export are in the trace of the caller, %s",
  async (how) => {
    const trace = (how === "with Redis" ? "3" : "1").repeat(32);
    const caller = "4".repeat(16);
    const traceparent = `00-${trace}-${caller}-01`;
    const env = workerEnv(sandbox, {
      DUCKMIRROR_EXPORT_FORMATS: "ndjson",
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "50",
      TRACEPARENT: "not for a worker",
      ...(how === "with Redis" ? { REDIS_URL: redis.url } : {}),
    });
    const { url, stop } = await startServing(WORKER, env);
    if (how === "with Redis") {
      const asked = await runBuilt(["trigger", "accounts", "--wait"], { ...env, TRACEPARENT: traceparent });
      expect(asked.code, asked.err).toBe(0);
    } else {
      const headers = { "content-type": "application/json", traceparent };
      const asked = await fetch(`${url}/api/syncs`, { method: "POST", headers, body: '{"streams":["usage"]}' });
      expect(asked.status).toBe(202);
    }
    await receiver.until("job export", trace);
    expect(await exportSeconds(url)).toBeGreaterThan(0);
    await stop();
    await isOneTrace(trace, caller);
    expect(receiver.requests.map(({ body }) => body.toString("utf8")).join("\n")).not.toContain(sandbox.token);
  },
);
