// Each kind of fault over real sockets, as duckmirror's own client sees it: the fault × outcome table. Shows P18.
import { createServer, type Server } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Client, createClient } from "../../../../src/api/client.ts";
import type { ApiCall } from "../../../../src/api/outcome.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { FAULT_KINDS, type FaultKind } from "../../../../src/sandbox/faults/faulty-response.ts";
import { type FaultProxy, startFaultProxy } from "../../../../src/sandbox/faults/proxy.ts";

const LIST: ApiCall = { endpoint: "listAccounts", path: "/v1/accounts", query: { page: "1" } };
const TIME = "2026-03-04T05:06:07.000Z";
const RESETS = "2026-04-01T00:00:00.000Z";
const PAGE = JSON.stringify({
  data: Array.from({ length: 200 }, (_, id) => ({ id, name: `Account ${id}` })),
  meta: { page: 1, perPage: 200, totalCount: 200, totalPages: 1, timestamp: TIME },
  usage: { limit: 100, used: 1, remaining: 99, resetsAt: RESETS },
});

let service: Server;
let asked: { url: string; token: string }[] = [];
let proxy: FaultProxy | null = null;
let client: Client | null = null;

beforeEach(async () => {
  asked = [];
  service = createServer((request, response) => {
    asked.push({ url: request.url ?? "", token: request.headers.authorization ?? "" });
    response.writeHead(200, { "content-type": "application/json", date: new Date(Date.parse(TIME)).toUTCString() });
    response.end(PAGE);
  });
  await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await client?.close();
  await proxy?.close();
  client = null;
  proxy = null;
  service.closeAllConnections();
  await new Promise((resolve) => service.close(resolve));
});

const upstream = () => {
  const address = service.address();
  if (address === null || typeof address === "string") throw new Error("the service has no port");
  return `http://127.0.0.1:${address.port}`;
};

/** Only who is to see a timeout must be impatient: on a busy machine anything may take a second. */
const CALM = { connectMs: 20_000, headersMs: 20_000, bodyMs: 20_000, totalMs: 40_000 };
const IMPATIENT = { connectMs: 20_000, headersMs: 700, bodyMs: 700, totalMs: 1_400 };

/** A client that reaches the service through a proxy with these faults. */
const behind = async (faults: unknown, timeouts = CALM): Promise<Client> => {
  proxy = await startFaultProxy({ upstream: upstream(), faults });
  client = createClient({
    baseUrl: proxy.url,
    token: "a-token",
    version: "1.2.3",
    clock: systemClock,
    timeouts,
    maxBodyBytes: 1_000_000,
  });
  return client;
};

test("what no fault strikes passes unchanged, with its path, query and token", async () => {
  const outcome = await (await behind({})).send(LIST);
  expect(outcome).toMatchObject({ kind: "ok", status: 200, page: { totalCount: 200 }, usage: { remaining: 99 } });
  expect(asked).toEqual([{ url: "/v1/accounts?page=1", token: "Bearer a-token" }]);
});

const broken = (reason: string, status: number | null) => ({ kind: "broken", reached: "unknown", reason, status });
const refused = (status: number) => ({ kind: "refused", status });
const used = { kind: "ok", status: 200 };
const invalid = (detail: RegExp) => ({ kind: "invalid", status: 200, detail: expect.stringMatching(detail) });

/** Kind, how a file writes it, what the client makes of it, how often the service was reached. */
const EXPECTED: Readonly<
  Record<FaultKind, readonly (readonly [written: unknown, outcome: object, reached: number])[]>
> = {
  "reset-before": [["reset-before", broken("reset", null), 0]],
  "reset-after": [["reset-after", broken("reset", null), 1]],
  "reset-midway": [["reset-midway", broken("reset", 200), 1]],
  "end-midway": [["end-midway", broken("reset", 200), 1]],
  "truncated-gzip": [["truncated-gzip", broken("encoding", 200), 1]],
  "cut-unframed": [["cut-unframed", invalid(/not valid JSON/), 1]],
  "short-length": [["short-length", invalid(/not valid JSON/), 1]],
  trickle: [[{ kind: "trickle", every: 10 }, broken("timeout", 200), 1]],
  "hang-headers": [["hang-headers", broken("timeout", null), 1]],
  "hang-midway": [["hang-midway", broken("timeout", 200), 1]],
  delay: [
    [{ kind: "delay", ms: 20 }, used, 1],
    [{ kind: "delay", ms: 60_000 }, broken("timeout", null), 1],
  ],
  "empty-body": [["empty-body", invalid(/the body is empty/), 1]],
  html: [["html", invalid(/HTML.*"Sign in"/), 0]],
  "content-type": [["content-type", used, 1]],
  "invalid-json": [["invalid-json", invalid(/not valid JSON/), 1]],
  "wrong-shape": [
    ["wrong-shape", invalid(/no data/), 1],
    [{ kind: "wrong-shape", shape: "list" }, invalid(/an array, not an object/), 1],
    [{ kind: "wrong-shape", shape: "text" }, invalid(/a string, not an object/), 1],
    [{ kind: "wrong-shape", shape: "data-object" }, invalid(/data is not an array/), 1],
    [{ kind: "wrong-shape", shape: "data-null" }, invalid(/data is not an array/), 1],
    [{ kind: "wrong-shape", shape: "error" }, invalid(/says that the request failed/), 1],
  ],
  status: [
    ...[408, 425, 429, 500, 502, 503, 504].map((status) => [status, refused(status), 0] as const),
    [{ kind: "status", status: 429, retry_after: 7 }, { ...refused(429), rate: { retryAt: expect.any(Number) } }, 0],
    [{ kind: "status", status: 502, body: "html" }, { ...refused(502), excerpt: expect.stringContaining("nginx") }, 0],
    [{ kind: "status", status: 500, body: "empty" }, { ...refused(500), excerpt: "" }, 0],
  ],
  "expired-token": [["expired-token", refused(401), 0]],
  duplicate: [["duplicate", used, 2]],
  "clock-jump": [
    [
      { kind: "clock-jump", by: -3_600_000 },
      { ...used, timestamp: Date.parse(TIME) - 3_600_000, usage: { resetsAt: Date.parse(RESETS) - 3_600_000 } },
      1,
    ],
  ],
  redirect: [["redirect", { ...refused(302), excerpt: "redirect to https://login.example.com" }, 0]],
  oversized: [[{ kind: "oversized", bytes: 3_000_000 }, broken("too_large", 200), 1]],
  "gzip-bomb": [[{ kind: "gzip-bomb", bytes: 30_000_000 }, broken("too_large", 200), 1]],
  informational: [["informational", used, 1]],
  "not-http": [["not-http", broken("reset", null), 0]],
};

describe.each(FAULT_KINDS)("%s", (kind) => {
  test.each(EXPECTED[kind])("%j is one outcome, and the next request is whole", async (fault, outcome, reached) => {
    const hangs = "reason" in outcome && outcome.reason === "timeout";
    const sender = await behind({ rules: [{ fault, times: 1 }] }, hangs ? IMPATIENT : CALM);
    expect(await sender.send(LIST)).toMatchObject(outcome);
    expect(asked).toHaveLength(reached);
    expect(proxy?.passed).toMatchObject([{ url: "/v1/accounts?page=1", fault: kind, statuses: asked.map(() => 200) }]);
    // What a fault left on the connection must not become the answer to another request.
    expect(await sender.send(LIST)).toMatchObject(used);
  });
});

test("an answer struck by a wrong length never gives its rest away as another answer", async () => {
  const sender = await behind({ rules: [{ fault: "short-length", after: 1, times: 1 }] });
  const outcomes = await Promise.all([sender.send(LIST), sender.send(LIST), sender.send(LIST), sender.send(LIST)]);
  expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["invalid", "ok", "ok", "ok"]);
});

test("a service that is gone ends the connection", async () => {
  proxy = await startFaultProxy({ upstream: "http://127.0.0.1:1", faults: {} });
  await expect(fetch(`${proxy.url}/v1/accounts`)).rejects.toThrow();
});

test("another schedule holds from then on, and every request that came by is reported", async () => {
  const sender = await behind({ rules: [{ fault: 503 }] });
  await sender.send(LIST);
  proxy?.setFaults({});
  await sender.send(LIST);
  expect(proxy?.passed.map(({ fault, statuses }) => [fault, statuses])).toEqual([
    ["status", []],
    [null, [200]],
  ]);
});
