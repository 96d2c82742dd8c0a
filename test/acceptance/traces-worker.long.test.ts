// Traces across processes: the caller and the worker, in one trace.
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { type Sandbox, startSandbox } from "../../src/sandbox/sandbox.ts";
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { runBuilt, startBuilt, syncEnv } from "./built-cli.ts";
import { tempFolder } from "./temp-folder.ts";

let sandbox: Sandbox;
let redis: TestRedis;
let receiver: OtlpReceiver;
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 43, accounts: 3, plan: "enterprise", maxPerPage: 50, threads: 1 });
  redis = await startRedis();
  receiver = await startOtlpReceiver();
});
afterAll(async () => {
  await sandbox.close();
  await redis.kill();
  await receiver.close();
});

const readySchema = z.object({ url: z.string() });

const envOf = (more: Readonly<Record<string, string>>) => ({
  ...syncEnv(sandbox, tempFolder()),
  DUCKMIRROR_SCHEDULE: "off",
  DUCKMIRROR_RATE_LIMIT: "100000",
  OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
  OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
  OTEL_BSP_SCHEDULE_DELAY: "50",
  ...more,
});

const startWorker = async (argv: readonly string[], env: Readonly<Record<string, string>>) => {
  const worker = startBuilt(["worker", "--listen", "127.0.0.1:0", "--json", ...argv], env);
  await new Promise<void>((resolve, reject) => {
    worker.child.stdout.on("data", () => worker.out().includes("\n") && resolve());
    void worker.ended.then(({ err }) => reject(new Error(err)));
  });
  return { ...worker, url: readySchema.parse(JSON.parse(worker.out())).url };
};

/** How long the last export took, as the worker's metrics tell it. */
const exportSeconds = async (url: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^duckmirror_export_seconds\{profile="default"\} (\S+)$/m.exec(text)?.[1]);
};

const traceOf = (id: string) => receiver.spans().filter(({ traceId }) => traceId === id);
const only = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
  const found = spans.filter((span) => span.name === name);
  expect(found.map((span) => span.name)).toEqual([name]);
  const [span] = found;
  if (span === undefined) throw new Error(name);
  return span;
};

test("a worker's run, publish and export are in the trace of the HTTP client that asked", async () => {
  const trace = "11111111111111111111111111111111";
  const worker = await startWorker(
    [],
    envOf({ DUCKMIRROR_EXPORT_FORMATS: "parquet", TRACEPARENT: "not for a worker" }),
  );
  const headers = { "content-type": "application/json", traceparent: `00-${trace}-2222222222222222-01` };
  const asked = await fetch(`${worker.url}/api/syncs`, { method: "POST", headers, body: '{"streams":["usage"]}' });
  expect(asked.status).toBe(202);
  const exported = await receiver.until("job export", trace);
  expect(await exportSeconds(worker.url)).toBeGreaterThan(0);
  worker.child.kill("SIGTERM");
  expect((await worker.ended).code).toBe(0);
  const spans = traceOf(trace);
  const trigger = only(spans, "trigger");
  expect(trigger.parentSpanId).toBe("2222222222222222");
  const run = only(spans, "sync");
  expect(run.parentSpanId).toBe(trigger.spanId);
  expect(run.attributes["duckmirror.run.id"]).toBe(trigger.attributes["duckmirror.run.id"]);
  expect(only(spans, "job publish").parentSpanId).toBe(trigger.spanId);
  expect(exported).toMatchObject({ traceId: trace, parentSpanId: trigger.spanId });
});

test("a trigger and the worker that takes its sync from Redis are one trace", async () => {
  const trace = "33333333333333333333333333333333";
  const env = envOf({ REDIS_URL: redis.url, DUCKMIRROR_EXPORT_FORMATS: "ndjson" });
  const worker = await startWorker([], env);
  const asking = { ...env, TRACEPARENT: `00-${trace}-4444444444444444-01` };
  const waited = await runBuilt(["trigger", "accounts", "--wait", "--json"], asking);
  expect(waited.code, waited.err).toBe(0);
  const exported = await receiver.until("job export", trace);
  expect(await exportSeconds(worker.url)).toBeGreaterThan(0);
  worker.child.kill("SIGTERM");
  expect((await worker.ended).code).toBe(0);
  const spans = traceOf(trace);
  const trigger = only(spans, "trigger");
  expect(trigger.parentSpanId).toBe("4444444444444444");
  const run = only(spans, "sync");
  expect(run.parentSpanId).toBe(trigger.spanId);
  expect([only(spans, "job publish"), exported].map(({ parentSpanId }) => parentSpanId)).toEqual([
    trigger.spanId,
    trigger.spanId,
  ]);
  const requests = spans.filter(({ parentSpanId, kind }) => parentSpanId === run.spanId && kind === 3);
  expect(requests.length).toBeGreaterThan(0);
  const all = receiver.requests.map(({ body }) => body.toString("utf8")).join("\n");
  expect(all).not.toContain(sandbox.token);
});
