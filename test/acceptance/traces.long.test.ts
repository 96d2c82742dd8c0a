// Traces of the built program, as a collector receives them: names, parents, attributes; nothing of a person, no token;
// and a collector that is away, mute or not wanted.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { runQuery } from "../../src/warehouse/read/query.ts";
import { forFile } from "../support/for-file.ts";
import { type ReceivedSpan, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { aSandbox, runBuilt, syncEnv, syncWell } from "./built-cli.ts";
import { tempFolder } from "./temp-folder.ts";

const sandbox = await aSandbox({ seed: 9, accounts: 4 });
const receiver = await forFile(startOtlpReceiver());
afterEach(() => sandbox.intercept(undefined));

const JSON_TRACES = { OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" };
const HEX = "0af7651916cd43dd8448eb211c80319c";

const childrenOf = (spans: readonly ReceivedSpan[], parent: ReceivedSpan | undefined) =>
  spans.filter(({ parentSpanId, traceId }) => parentSpanId === parent?.spanId && traceId === parent?.traceId);
const isRequest = ({ kind }: ReceivedSpan) => kind === 3;

const scripts = z.object({ result: z.array(z.object({ url: z.string() })) });

/** Whether a run loaded the part of the bundle that exports traces. Node lists the scripts of a process for its coverage. */
const loadsExporter = (folder: string): boolean =>
  readdirSync(folder)
    .flatMap((name) => scripts.parse(JSON.parse(readFileSync(join(folder, name), "utf8"))).result)
    .filter(({ url }) => url.startsWith("file:"))
    .some(({ url }) => readFileSync(fileURLToPath(url), "utf8").includes("application/x-protobuf"));

describe("a sync", () => {
  const folder = tempFolder();
  let spans: readonly ReceivedSpan[] = [];
  let report: Awaited<ReturnType<typeof syncWell>>;
  beforeAll(async () => {
    let refused = false;
    sandbox.intercept(async ({ path }, next) => {
      if (refused || !path.startsWith("/v1/signals")) return next();
      refused = true;
      return { status: 503, body: "try again", headers: {} };
    });
    report = await syncWell(sandbox, join(folder, "data"), [], {
      ...JSON_TRACES,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: "x-collector-key=collector-secret",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
      TRACEPARENT: `00-${HEX}-b7ad6b7169203331-01`,
    });
    spans = receiver.spans();
  });
  const root = () => spans.find(({ name }) => name === "sync");

  test("arrives complete, in the trace of its caller", () => {
    expect(root()).toMatchObject({ traceId: HEX, parentSpanId: "b7ad6b7169203331" });
    expect(root()?.attributes).toMatchObject({ "duckmirror.run.id": report.run_id, "duckmirror.profile": "default" });
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([HEX]));
    const known = new Set(spans.map(({ spanId }) => spanId));
    expect(spans.filter((span) => span !== root() && !known.has(span.parentSpanId))).toEqual([]);
    expect(receiver.requests.every(({ path, headers }) => path === "/v1/traces" && headers["x-collector-key"])).toBe(
      true,
    );
    expect(receiver.resources()[0]).toMatchObject({
      "service.name": "duckmirror",
      "service.version": expect.any(String),
      "deployment.environment.name": "test",
    });
  });

  test("has a span per request that leads to its row in the mirror", async () => {
    const requests = childrenOf(spans, root()).filter(isRequest);
    expect(requests).toHaveLength(report.requests);
    const { rows } = await runQuery({
      snapshot: join(folder, "data", "warehouse.duckdb"),
      sql: "select request_id, endpoint, status, charge, attempt from sync.requests order by 1",
    });
    const seen = requests.map(({ name, attributes }) => [
      attributes["duckmirror.request.id"],
      name.replace("GET ", ""),
      attributes["http.response.status_code"],
      attributes["duckmirror.charge"],
      Number(attributes["http.request.resend_count"] ?? 0) + 1,
    ]);
    const sorted = [...seen].sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1));
    expect(sorted).toEqual(rows.map((row) => row.map((value) => (typeof value === "bigint" ? Number(value) : value))));
  });

  test("shows the refusal, the wait after it and the attempt that came next", () => {
    const inner = childrenOf(spans, root());
    const refused = inner.find(({ attributes }) => attributes["http.response.status_code"] === 503);
    expect(refused).toMatchObject({ attributes: { "error.type": "503" }, status: { code: 2 } });
    const again = inner.find(({ attributes }) => attributes["http.request.resend_count"] === 1);
    expect(again?.name).toBe(refused?.name);
    const wait = inner.find(
      ({ name, attributes }) => name === "wait" && attributes["duckmirror.wait.reason"] === "retry",
    );
    // How long is drawn by lot: anything within a second.
    expect((wait?.endTimeUnixNano ?? 0n) - (wait?.startTimeUnixNano ?? 0n)).toBeGreaterThan(0n);
  });

  test("shows opening, planning, commits with their rows, and publishing", () => {
    const inner = childrenOf(spans, root());
    const count = (name: string) => inner.filter((span) => span.name === name).length;
    expect([count("open"), count("plan")]).toEqual([1, 1]);
    // A first mirror that takes half a minute also publishes what is there so far.
    expect(count("publish")).toBeGreaterThanOrEqual(1);
    const inserted = inner
      .filter(({ name }) => name === "commit")
      .reduce((sum, { attributes }) => sum + Number(attributes["duckmirror.rows.inserted"]), 0);
    expect(inserted).toBeGreaterThanOrEqual(report.streams.reduce((sum, stream) => sum + stream.inserted, 0));
  });

  test("holds neither token nor query nor anything about a person", async () => {
    const sent = receiver.requests.map(({ body }) => body.toString("utf8")).join("\n");
    expect(sent).not.toContain(sandbox.token);
    expect(sent).not.toContain("onlyWithFields");
    const { rows } = await runQuery({
      snapshot: join(folder, "data", "warehouse.duckdb"),
      sql: `select distinct value from (unpivot (select id, email, last_name, phone from contacts) on columns(*))
            union select domain from companies union select id from companies`,
    });
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.map(([value]) => String(value)).filter((value) => value.length > 3 && sent.includes(value))).toEqual(
      [],
    );
  });

  test("verify and export have spans of their own", async () => {
    const env = {
      ...syncEnv(sandbox, join(folder, "data")),
      ...JSON_TRACES,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/otlp/elsewhere`,
      OTEL_SERVICE_NAME: "mirror-of-acme",
    };
    const verify = await runBuilt(["verify", "--max-credits", "3", "--json"], env);
    expect(verify.code, verify.err).toBe(0);
    const exported = await runBuilt(["export", "--tables", "accounts", "--json"], env);
    expect(exported.code, exported.err).toBe(0);
    const all = receiver.spans();
    const verified = all.find(({ name }) => name === "verify");
    expect(verified?.attributes).toMatchObject({ "duckmirror.credits.spent": 3, "duckmirror.differences": 0 });
    expect(childrenOf(all, verified).filter(isRequest)).toHaveLength(3);
    expect(all.find(({ name }) => name === "export")?.attributes).toMatchObject({
      "duckmirror.export.format": "parquet",
      "duckmirror.export.files": 1,
    });
    expect(receiver.requests.at(-1)?.path).toBe("/otlp/elsewhere");
    expect(receiver.resources().at(-1)?.["service.name"]).toBe("mirror-of-acme");
  });

  test("goes as Protobuf where nothing else is said", async () => {
    const from = receiver.requests.length;
    const env = { ...syncEnv(sandbox, join(folder, "data")), OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
    const loaded = tempFolder();
    const run = await runBuilt(["sync", "usage"], { ...env, NODE_V8_COVERAGE: loaded });
    expect(run.code, run.err).toBe(0);
    // What the tests below look for in vain is there when it is loaded.
    expect(loadsExporter(loaded)).toBe(true);
    const received = receiver.requests.slice(from);
    expect(received.length).toBeGreaterThan(0);
    expect(received.every(({ headers }) => headers["content-type"] === "application/x-protobuf")).toBe(true);
    const bytes = Buffer.concat(received.map(({ body }) => body)).toString("latin1");
    expect(bytes).toContain("GET /v1/usage/limits");
    expect(bytes).not.toContain(sandbox.token);
  });
});

test("the service is sent no trace context", async () => {
  const names = new Set<string>();
  sandbox.intercept(async ({ headers }, next) => {
    for (const name of Object.keys(headers)) names.add(name);
    return next();
  });
  const env = { ...JSON_TRACES, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
  await syncWell(sandbox, join(tempFolder(), "data"), ["accounts"], env);
  expect(names.has("authorization")).toBe(true);
  expect([...names].filter((name) => /trace|baggage/.test(name))).toEqual([]);
});

describe("where nothing is wanted or nobody listens", () => {
  const folder = tempFolder();
  beforeAll(() => syncWell(sandbox, join(folder, "data"), ["usage"]));
  /** A run with these settings to its good end: its time in ms, and what it said. */
  const timed = async (argv: readonly string[], env: Readonly<Record<string, string>>) => {
    const startedAt = performance.now();
    const run = await runBuilt(argv, { ...syncEnv(sandbox, join(folder, "data")), ...env });
    expect(run.code, run.err).toBe(0);
    return { ms: performance.now() - startedAt, err: run.err };
  };
  const EXPORT = ["export", "--tables", "usage_limits"];
  const SYNC = ["sync", "usage"];
  const warnings = (err: string) => err.split("\n").filter((line) => /trace/.test(line));

  test.each([
    ["mute", SYNC],
    ["dead", EXPORT],
  ])("a %s collector costs a moment and one warning, nothing else", async (state, argv) => {
    const other = await startOtlpReceiver({ mute: true });
    if (state === "dead") await other.close();
    const without = await timed(argv, {});
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: other.url, OTEL_EXPORTER_OTLP_TIMEOUT: "60000" };
    const { ms, err } = await timed(argv, env);
    if (state !== "dead") await other.close();
    expect(warnings(err)).toEqual([expect.stringContaining(`traces do not reach ${other.url}`)]);
    // Two seconds for the collector, not the minute of its own setting; the rest is what a busy machine may add.
    expect(ms - without.ms).toBeLessThan(30_000);
  });

  test("without a setting nothing arrives and nothing of OpenTelemetry is loaded", async () => {
    const from = receiver.requests.length;
    const loaded = tempFolder();
    await timed(EXPORT, { NODE_V8_COVERAGE: loaded });
    expect(loadsExporter(loaded)).toBe(false);
    expect(receiver.requests).toHaveLength(from);
  });
});
