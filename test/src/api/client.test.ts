// The client over real sockets: every way an answer can be right or wrong ends in exactly one typed outcome.
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Client, type ClientOptions, createClient } from "../../../src/api/client.ts";
import type { ApiCall } from "../../../src/api/outcome.ts";
import { systemClock } from "../../../src/core/clock.ts";
import * as play from "../../support/scripted-server.ts";

const TOKEN = "eyJhbGciOiJIUzI1NiJ9.e30.c2VjcmV0LXNpZ25hdHVyZQ";
const LIST: ApiCall = { endpoint: "listAccounts", path: "/v1/accounts", query: { page: "1" } };
const DETAIL: ApiCall = { endpoint: "getAccount", path: "/v1/accounts/7", query: {} };
const PAGE = { data: [{ id: 1 }], meta: { page: 1, perPage: 20, totalCount: 1, totalPages: 1 } };
const PADDED = JSON.stringify({ ...PAGE, padding: "x".repeat(10_000) });

let server: play.ScriptedServer;
const clients: Client[] = [];
const client = (options: Partial<ClientOptions> = {}): Client => {
  const made = createClient({ baseUrl: server.origin, token: TOKEN, version: "1.2.3", clock: systemClock, ...options });
  clients.push(made);
  return made;
};

beforeEach(async () => {
  // The proxies of the machine that runs the tests have no part in them.
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"]) {
    vi.stubEnv(name, "");
    vi.stubEnv(name.toLowerCase(), "");
  }
  server = await play.startScriptedServer();
});
afterEach(async () => {
  await server.close();
  await Promise.all(clients.splice(0).map((made) => made.close()));
  vi.unstubAllEnvs();
});

describe("a complete answer", () => {
  test("a page comes back parsed, with paging, usage, rate and the bytes for the archive", async () => {
    const usage = { limit: 1000, used: 10, remaining: 990, resetsAt: "2026-02-01T00:00:00Z" };
    const meta = { ...PAGE.meta, requestId: "r", apiVersion: "1", timestamp: "2026-01-05T10:00:00Z" };
    const body = JSON.stringify({ ...PAGE, meta, usage, included: { owners: [] } });
    server.play(play.gzipped(body, { headers: { "ratelimit-limit": "300", "ratelimit-remaining": "12" } }));
    const outcome = await client().send(LIST);
    expect(outcome).toMatchObject({
      kind: "ok",
      call: LIST,
      status: 200,
      bytes: Buffer.byteLength(body),
      data: [{ id: 1 }],
      included: { owners: [] },
      page: { page: 1, perPage: 20, totalCount: 1, totalPages: 1 },
      usage: { limit: 1000, used: 10, remaining: 990, resetsAt: Date.UTC(2026, 1, 1) },
      timestamp: Date.UTC(2026, 0, 5, 10),
      rate: { limit: 300, remaining: 12 },
    });
    if (outcome.kind !== "ok") throw new Error("not ok");
    expect(outcome.wire.encoding).toBe("gzip");
    expect(gunzipSync(outcome.wire.bytes).toString()).toBe(body);
  });

  test("brotli and plain bodies are read too", async () => {
    server.play(play.brotli(JSON.stringify(PAGE)), play.json(PAGE));
    const sender = client();
    expect(await sender.send(LIST)).toMatchObject({ kind: "ok", data: PAGE.data, wire: { encoding: "br" } });
    expect(await sender.send(LIST)).toMatchObject({ kind: "ok", data: PAGE.data, wire: { encoding: "identity" } });
  });

  test("integers beyond 2^53 arrive exactly", async () => {
    server.play(play.answer('{"data":{"id":9007199254740993}}'));
    expect(await client().send(DETAIL)).toMatchObject({ kind: "ok", data: { id: 9007199254740993n } });
  });

  test("a wrong content type does not matter when the body is an envelope", async () => {
    server.play(play.json(PAGE, { headers: { "content-type": "text/html" } }));
    expect(await client().send(LIST)).toMatchObject({ kind: "ok" });
  });

  test("an insight that matched no account has a status and no data", async () => {
    server.play(play.json({ status: "not_found", meta: {} }));
    const call: ApiCall = { endpoint: "getAccountInsight", path: "/v1/account-insights", query: { accountId: "1" } };
    expect(await client().send(call)).toMatchObject({ kind: "ok", data: null, envelope: { status: "not_found" } });
  });
});

describe("the request", () => {
  test("carries the token, the version and the encodings, below the path of the base address", async () => {
    server.play(play.json(PAGE));
    const query = { onlyWithFields: "id,name", textQuery: "Zürich & Söhne +1" };
    await client({ baseUrl: `${server.origin}/gateway/crm/` }).send({ ...LIST, query });
    const [seen] = server.seen;
    expect(seen?.headers).toMatchObject({
      authorization: `Bearer ${TOKEN}`,
      "user-agent": "duckmirror/1.2.3",
      "accept-encoding": "gzip, br;q=0.9",
    });
    const url = new URL(seen?.target ?? "", server.origin);
    expect(url.pathname).toBe("/gateway/crm/v1/accounts");
    expect(Object.fromEntries(url.searchParams)).toEqual(query);
    expect(seen?.target).not.toContain("+");
  });

  test("feedback is posted as JSON, large integers included", async () => {
    server.play(play.json({ data: {} }));
    const call: ApiCall = {
      endpoint: "sendFeedback",
      path: "/v1/feedback",
      query: {},
      body: { message: "no", context: { id: 9007199254740993n } },
    };
    expect(await client().send(call)).toMatchObject({ kind: "ok" });
    expect(server.seen[0]).toMatchObject({
      method: "POST",
      body: '{"message":"no","context":{"id":9007199254740993}}',
      headers: { "content-type": "application/json" },
    });
  });

  test("connections are kept for the next request, after errors too", async () => {
    const round = [play.json(PAGE), play.gzipped(PADDED), play.answer("no", { status: 404 }), play.brotli(PADDED)];
    server.play(...round, ...round, ...round);
    const sender = client();
    for (let n = 0; n < 12; n += 1) await sender.send(LIST);
    // The pool may open a second one when the first is still being tidied up.
    expect(Math.max(...server.seen.map((request) => request.connection))).toBeLessThanOrEqual(2);
  });
});

describe("a 200 that is no envelope", () => {
  const cases: readonly (readonly [string, play.Script, RegExp])[] = [
    ["an HTML page", play.answer("<!doctype html><title>Sign in</title>"), /HTML.*Sign in/],
    ["an empty body", play.answer(""), /empty/],
    ["an array", play.answer("[]"), /an array/],
    ["no data", play.json({ meta: {} }), /no data/],
    ["an object where the list should be", play.json({ data: {} }), /not an array/],
    ["half a JSON text", play.answer('{"data":['), /not valid JSON/],
    ["brackets without end", play.answer("[".repeat(1_000_000)), /levels deep/],
  ];
  test.each(cases)("%s is invalid and keeps its bytes", async (_, script, detail) => {
    server.play(script);
    const outcome = await client().send(LIST);
    expect(outcome).toMatchObject({ kind: "invalid", status: 200, detail: expect.stringMatching(detail) });
    if (outcome.kind === "invalid") expect(outcome.wire?.encoding).toBe("identity");
  });

  test("an encoding that was not asked for is invalid and has no readable bytes", async () => {
    server.play(play.json(PAGE, { headers: { "content-encoding": "zstd" } }));
    expect(await client().send(LIST)).toMatchObject({ kind: "invalid", wire: null, detail: /zstd/ });
  });
});

describe("another status", () => {
  test("an error keeps its excerpt and its usage, whatever its encoding", async () => {
    const body = JSON.stringify({ error: "over quota", usage: { limit: 100, used: 100, remaining: 0 } });
    server.play(play.gzipped(body, { status: 402 }));
    expect(await client().send(LIST)).toMatchObject({
      kind: "refused",
      status: 402,
      excerpt: body,
      usage: { limit: 100, used: 100, remaining: 0, resetsAt: null },
    });
  });

  test("the token, terminal codes and everything beyond 2 KiB are taken out of the excerpt", async () => {
    const filler = "\u001b[31m".padEnd(2_030, "é");
    server.play(play.answer(`${TOKEN} ${filler} Bearer ${TOKEN}`, { status: 500 }));
    const outcome = await client().send(LIST);
    if (outcome.kind !== "refused") throw new Error(outcome.kind);
    expect(Buffer.byteLength(outcome.excerpt)).toBeLessThanOrEqual(2_048);
    expect(outcome.excerpt).not.toContain(TOKEN.slice(0, 10));
    expect(outcome.excerpt).not.toContain("\u001b");
  });

  test("a redirect is not followed: its target's origin is named, the rest of it is not", async () => {
    const elsewhere = await play.startScriptedServer();
    server.play(play.redirect(`${elsewhere.origin}/login?session=s3cret`), play.redirect("/v2/accounts"));
    const sender = client();
    expect(await sender.send(LIST)).toMatchObject({
      kind: "refused",
      status: 302,
      excerpt: `redirect to ${elsewhere.origin}`,
    });
    expect(await sender.send(LIST)).toMatchObject({ kind: "refused", excerpt: `redirect to ${server.origin}` });
    expect(elsewhere.seen).toEqual([]);
    await elsewhere.close();
  });

  test("an error whose body breaks off is still that error: its status decided", async () => {
    server.play(play.resetMidBody('{"error":', 503));
    expect(await client().send(LIST)).toMatchObject({ kind: "refused", status: 503 });
  });

  test("an error body of any size ends", async () => {
    server.play(play.answer("x".repeat(2_000_000), { status: 500 }));
    const outcome = await client().send(LIST);
    expect(outcome).toMatchObject({ kind: "refused", status: 500 });
    if (outcome.kind === "refused") expect(outcome.excerpt.length).toBe(2_048);
  });
});

describe("no complete answer", () => {
  const SHORT = { connectMs: 300, headersMs: 150, bodyMs: 150, totalMs: 600 };
  const unknown = { kind: "broken", reached: "unknown" };
  const cases: readonly (readonly [string, play.Script, object])[] = [
    ["a reset before the answer", play.resetWithoutAnswer, { ...unknown, status: null, reason: "reset" }],
    ["a close before the answer", play.closeWithoutAnswer, { ...unknown, status: null, reason: "reset" }],
    ["a reset within the body", play.resetMidBody(PADDED), { ...unknown, status: 200, reason: "reset" }],
    ["an end within the body", play.endMidBody(PADDED), { ...unknown, status: 200, reason: "reset" }],
    ["a gzip body cut short", play.truncatedGzip(PADDED), { ...unknown, status: 200, reason: "encoding" }],
    ["silence", play.silence, { ...unknown, status: null, reason: "timeout" }],
    ["silence within the body", play.silenceMidBody, { ...unknown, status: 200, reason: "timeout" }],
    ["a trickle that never pauses", play.trickle(20), { ...unknown, status: 200, reason: "timeout" }],
    ["something that is not HTTP", play.raw("SSH-2.0-OpenSSH_9.2\r\n"), { ...unknown, status: null, reason: "reset" }],
  ];
  test.each(cases)("%s may have cost a credit", async (_, script, expected) => {
    server.play(script);
    expect(await client({ timeouts: SHORT }).send(LIST)).toMatchObject(expected);
    expect(server.seen).toHaveLength(1);
  });

  test("silence ends at its own limit, long before the total one", async () => {
    server.play(play.silence, play.silenceMidBody);
    const sender = client({ timeouts: { ...SHORT, totalMs: 30_000 } });
    const outcomes = await Promise.all([sender.send(LIST), sender.send(LIST)]);
    expect(outcomes.map((outcome) => outcome.kind === "broken" && outcome.reason)).toEqual(["timeout", "timeout"]);
    expect(Math.max(...outcomes.map((outcome) => outcome.durationMs))).toBeLessThan(10_000);
  });

  test("a connection that the service closed while it was idle is not tried again by itself", async () => {
    server.play(play.json(PAGE), play.closeWithoutAnswer);
    const sender = client();
    await sender.send(LIST);
    expect(await sender.send(LIST)).toMatchObject({ kind: "broken", reached: "unknown", reason: "reset" });
    expect(server.seen).toHaveLength(2);
  });

  test("a refused connection and an unknown name certainly cost nothing", async () => {
    const gone = await play.startScriptedServer();
    await gone.close();
    expect(await client({ baseUrl: gone.origin }).send(LIST)).toMatchObject({
      kind: "broken",
      reached: "unsent",
      reason: "connect",
    });
    expect(await client({ baseUrl: "https://duckmirror.invalid" }).send(LIST)).toMatchObject({
      kind: "broken",
      reached: "unsent",
      reason: "dns",
    });
  });

  test("a TLS handshake that fails certainly cost nothing", async () => {
    server.play(play.json(PAGE));
    const secure = client({ baseUrl: server.origin.replace("http:", "https:"), timeouts: { connectMs: 300 } });
    expect(await secure.send(LIST)).toMatchObject({ kind: "broken", reached: "unsent", reason: "connect" });
  });

  test("the caller's signal ends a request at once; one aborted beforehand is never sent", async () => {
    server.play(play.silence);
    const stop = new AbortController();
    const sender = client();
    const pending = sender.send(LIST, stop.signal);
    while (server.seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error("SIGTERM"));
    expect(await pending).toMatchObject({ kind: "broken", reached: "unknown", reason: "aborted" });
    expect(await sender.send(LIST, stop.signal)).toMatchObject({ reached: "unsent", reason: "aborted" });
    expect(server.seen).toHaveLength(1);
  });
});

describe("a proxy", () => {
  const BEHIND = { baseUrl: "http://service.example", allowPlainHttp: true };
  const tunnel: play.Script = (socket) => socket.write("HTTP/1.1 200 Connection established\r\n\r\n");

  test("from the environment is used, and sees the token only inside the tunnel", async () => {
    vi.stubEnv("http_proxy", server.origin);
    server.play(tunnel, play.json(PAGE));
    expect(await client(BEHIND).send(LIST)).toMatchObject({ kind: "ok", data: PAGE.data });
    expect(server.seen.map(({ method, target }) => `${method} ${target}`)).toEqual([
      "CONNECT service.example:80",
      "GET /v1/accounts?page=1",
    ]);
    expect(server.seen[0]?.headers.authorization).toBeUndefined();
  });

  test("is passed by for this machine", async () => {
    vi.stubEnv("http_proxy", "http://127.0.0.1:1");
    server.play(play.json(PAGE));
    expect(await client().send(LIST)).toMatchObject({ kind: "ok" });
  });

  test("that refuses or is gone certainly cost nothing, and its password shows nowhere", async () => {
    vi.stubEnv("http_proxy", `http://user:s3cret@127.0.0.1:${server.port}`);
    server.play(play.answer("", { status: 407 }));
    const refused = await client(BEHIND).send(LIST);
    expect(refused).toMatchObject({ kind: "broken", reached: "unsent", reason: "connect", detail: /407/ });
    await server.close();
    const gone = await client(BEHIND).send(LIST);
    expect(gone).toMatchObject({ kind: "broken", reached: "unsent", reason: "connect" });
    expect(JSON.stringify([refused, gone])).not.toContain("s3cret");
  });

  test("whose address is none is refused at creation", () => {
    vi.stubEnv("http_proxy", "http://user:s3cret@:99999");
    expect(() => client(BEHIND)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
    expect(() => client(BEHIND)).not.toThrow(/s3cret/);
  });
});

describe("size", () => {
  const maxBodyBytes = 100_000;
  const tooLarge = { kind: "broken", reached: "unknown", status: 200, reason: "too_large" };

  test("a body longer than allowed is refused, announced or not", async () => {
    server.play(play.answer(" ".repeat(maxBodyBytes + 1)), play.endless);
    const sender = client({ maxBodyBytes });
    expect(await sender.send(LIST)).toMatchObject(tooLarge);
    expect(await sender.send(LIST)).toMatchObject(tooLarge);
  });

  test("291 KB that grow into 300 MB stop at the limit", async () => {
    server.play(await play.gzipBomb());
    expect(await client({ maxBodyBytes: 1_000_000 }).send(LIST)).toMatchObject(tooLarge);
  });
});

describe("creation", () => {
  const create = (options: Partial<ClientOptions>) => () => client(options);

  test("the token crosses no network unencrypted unless that is allowed", () => {
    expect(create({ baseUrl: "http://api.example.com" })).toThrow(
      expect.objectContaining({ code: "TOKEN_OVER_PLAIN_HTTP" }),
    );
    expect(create({ baseUrl: "http://127.0.0.1.example.com" })).toThrow(/unencrypted/);
    expect(create({ baseUrl: "http://api.example.com", allowPlainHttp: true })).not.toThrow();
    for (const host of ["localhost:1", "127.0.0.1:1", "[::1]:1", "sandbox.localhost"]) {
      expect(create({ baseUrl: `http://${host}` })).not.toThrow();
    }
  });

  test("an address or token that cannot work is refused without repeating the token", () => {
    for (const baseUrl of ["api.example.com", "ftp://api.example.com", "https://u:p@api.example.com"]) {
      expect(create({ baseUrl })).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
    }
    expect(create({ token: " " })).toThrow(expect.objectContaining({ code: "TOKEN_MISSING" }));
    expect(create({ token: "two\r\nlines" })).toThrow(expect.not.objectContaining({ message: /two/ }));
  });
});
