// The client when no complete answer comes: over real sockets, and always one outcome that says what it may have cost. Shows P18.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import * as play from "../../support/scripted-server.ts";
import { tempDir } from "../warehouse/temp-dir.ts";
import { client, LIST, PADDED, PAGE, server, useService } from "./client-harness.ts";

useService();

describe("no complete answer", () => {
  // Only what is to see a timeout is impatient: on a busy machine anything may take a second.
  const CALM = { connectMs: 20_000, headersMs: 20_000, bodyMs: 20_000, totalMs: 40_000 };
  const reset = { status: null, reason: "reset" };
  const within = { ...reset, status: 200 };
  const cases: readonly (readonly [string, play.Script, object, Partial<typeof CALM>])[] = [
    ["a reset before the answer", play.resetWithoutAnswer, reset, {}],
    [
      "a close before the answer",
      play.closeWithoutAnswer,
      { ...reset, detail: "the connection was closed before the end of the answer" },
      {},
    ],
    ["a reset within the body", play.resetMidBody(PADDED), within, {}],
    ["an end within the body", play.endMidBody(PADDED), within, {}],
    ["a gzip body cut short", play.truncatedGzip(PADDED), { status: 200, reason: "encoding" }, {}],
    [
      "silence",
      play.silence,
      { status: null, reason: "timeout", detail: "no answer within 300 ms (headers_timeout)" },
      { headersMs: 300 },
    ],
    [
      "silence within the body",
      play.silenceMidBody,
      { status: 200, reason: "timeout", detail: "the answer paused for 300 ms before its end (body_timeout)" },
      { bodyMs: 300 },
    ],
    [
      "a trickle that never pauses",
      play.trickle(20),
      { status: 200, reason: "timeout", detail: "no complete answer within 700 ms (request_timeout)" },
      { totalMs: 700 },
    ],
    ["something that is not HTTP", play.raw("SSH-2.0-OpenSSH_9.2\r\n"), reset, {}],
    [
      "an answer with two lengths",
      play.raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
      { reason: "form", detail: expect.stringContaining("rules of HTTP") },
      {},
    ],
    [
      "headers that are too large",
      play.json(PAGE, { headers: { "x-long": "x".repeat(20_000) } }),
      { reason: "headers", detail: "the headers of the answer are larger than 16 KiB" },
      {},
    ],
  ];
  test.each(cases)("%s may have cost a credit, and is named in plain words", async (_, script, expected, timeouts) => {
    server.play(script);
    const outcome = await client({ timeouts: { ...CALM, ...timeouts } }).send(LIST);
    expect(outcome).toMatchObject({ kind: "broken", reached: "unknown", ...expected });
    expect(server.seen).toHaveLength(1);
  });

  test("a connection that the service closed while it was idle is not tried again by itself", async () => {
    server.play(play.json(PAGE), play.closeWithoutAnswer);
    const sender = client();
    await sender.send(LIST);
    expect(await sender.send(LIST)).toMatchObject({ kind: "broken", reached: "unknown", reason: "reset" });
    expect(server.seen).toHaveLength(2);
  });

  test("a certificate that nobody signed is named as that, and no request is sent", async () => {
    const dir = tempDir();
    const [cert, key] = [join(dir, "own.crt"), join(dir, "own.key")];
    const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=127.0.0.1"];
    execFileSync("openssl", ["req", "-x509", ...kind, "-keyout", key, "-out", cert], { stdio: "ignore" });
    let requests = 0;
    const service = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (_, response) => {
      requests += 1;
      response.end("{}");
    }).listen(0, "127.0.0.1");
    await once(service, "listening");
    const address = service.address();
    const port = address === null || typeof address === "string" ? 0 : address.port;
    try {
      expect(await client({ baseUrl: `https://127.0.0.1:${port}` }).send(LIST)).toMatchObject({
        kind: "broken",
        reached: "unsent",
        reason: "certificate",
        detail: expect.stringMatching(/self-signed certificate/),
      });
      expect(requests).toBe(0);
    } finally {
      service.close();
    }
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

  test.each([
    ["closes the connection instead of opening a tunnel", play.closeWithoutAnswer, /proxy closed the connection/],
    ["never opens a tunnel", play.silence, /no connection within 300 ms/],
  ])("that %s is asked once, costs nothing, and holds nobody up", async (_, script, detail) => {
    vi.stubEnv("http_proxy", server.origin);
    server.play(script);
    const sender = client({ ...BEHIND, timeouts: { connectMs: 300 } });
    expect(await sender.send(LIST)).toMatchObject({ kind: "broken", reached: "unsent", reason: "connect", detail });
    await sender.close();
    expect(server.seen).toHaveLength(1);
  });

  test("that is silent does not hold up a request beyond its time, nor the end of the program", async () => {
    vi.stubEnv("http_proxy", server.origin);
    server.play(play.silence);
    const sender = client({ ...BEHIND, timeouts: { connectMs: 120_000, totalMs: 300 } });
    expect(await sender.send(LIST)).toMatchObject({ kind: "broken", reason: "timeout" });
    await sender.close();
  });

  test("whose address is none is refused at creation", () => {
    vi.stubEnv("http_proxy", "http://user:s3cret@:99999");
    expect(() => client(BEHIND)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
    expect(() => client(BEHIND)).not.toThrow(/s3cret/);
  });
});

test("a body longer than allowed is refused, announced or not", async () => {
  const maxBodyBytes = 100_000;
  server.play(play.answer(" ".repeat(maxBodyBytes + 1)), play.endless);
  const sender = client({ maxBodyBytes });
  for (let sent = 0; sent < 2; sent += 1)
    expect(await sender.send(LIST)).toMatchObject({
      ...{ kind: "broken", reached: "unknown", status: 200, reason: "too_large" },
    });
});
