// The client over real sockets: every way an answer can be right or wrong ends in exactly one typed outcome. Shows P22.
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { ApiCall } from "../../../src/api/outcome.ts";
import { verdictOf } from "../../../src/api/retry-policy.ts";
import { DuckmirrorError } from "../../../src/core/errors.ts";
import { Secret } from "../../../src/core/secret.ts";
import * as play from "../../support/scripted-server.ts";
import { client, LIST, PADDED, PAGE, server, TOKEN, useService } from "./client-harness.ts";

useService();

describe("a complete answer", () => {
  test("a page comes back parsed, integers beyond 2^53 exactly, with paging, usage, rate and the bytes for the archive", async () => {
    const usage = { limit: 1000, used: 10, remaining: 990, resetsAt: "2026-02-01T00:00:00Z" };
    const meta = { ...PAGE.meta, requestId: "r", apiVersion: "1", timestamp: "2026-01-05T10:00:00Z" };
    // The id is larger than a double holds.
    const body = JSON.stringify({ ...PAGE, meta, usage, included: { owners: [] } }).replace(
      '"id":1',
      '"id":9007199254740993',
    );
    server.play(play.gzipped(body, { headers: { "ratelimit-limit": "300", "ratelimit-remaining": "12" } }));
    const outcome = await client().send(LIST);
    expect(outcome).toMatchObject({
      kind: "ok",
      call: LIST,
      status: 200,
      bytes: Buffer.byteLength(body),
      data: [{ id: 9007199254740993n }],
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

describe("a response other than 200", () => {
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

  test("the token, terminal codes and everything beyond 2 KiB are taken out of the excerpt, however long it is", async () => {
    const filler = "\u001b[31m".padEnd(2_030, "é");
    server.play(play.answer(`${TOKEN} ${filler} Bearer ${TOKEN} ${"x".repeat(2_000_000)}`, { status: 500 }));
    const outcome = await client().send(LIST);
    if (outcome.kind !== "refused") throw new Error(outcome.kind);
    expect(Buffer.byteLength(outcome.excerpt)).toBeLessThanOrEqual(2_048);
    expect(outcome.excerpt).not.toContain(TOKEN.slice(0, 10));
    expect(outcome.excerpt).not.toContain("\u001b");
  });

  test("a redirect is not followed: its target is named, of another server only the origin, without what may be secret", async () => {
    const elsewhere = await play.startScriptedServer();
    server.play(
      play.redirect(`${elsewhere.origin}/login?session=s3cret`),
      play.redirect("/v2/accounts?session=s3cret"),
    );
    const sender = client();
    expect(await sender.send(LIST)).toMatchObject({
      kind: "refused",
      status: 302,
      excerpt: `redirect to ${elsewhere.origin}`,
    });
    expect(await sender.send(LIST)).toMatchObject({
      kind: "refused",
      excerpt: `redirect to ${server.origin}/v2/accounts`,
    });
    expect(elsewhere.seen).toEqual([]);
    await elsewhere.close();
  });

  test("an error whose body breaks off is still that error: its status decided", async () => {
    server.play(play.resetMidBody('{"error":', 503));
    expect(await client().send(LIST)).toMatchObject({ kind: "refused", status: 503 });
  });

  test("at a 401 the token is read again, and the request is sent once more with another one", async () => {
    server.play(play.json({}, { status: 401 }), play.json(PAGE), play.json(PAGE));
    let reads = 0;
    const rereadToken = async () => {
      reads += 1;
      return new Secret("another-token");
    };
    const sender = client({ rereadToken });
    expect(await sender.send(LIST)).toMatchObject({ kind: "ok" });
    expect(await sender.send(LIST)).toMatchObject({ kind: "ok" });
    expect(reads).toBe(1);
  });

  test("a token that is still the same, or cannot be read, is refused as before, without a second request", async () => {
    server.play(play.json({}, { status: 401 }), play.json({}, { status: 401 }));
    const same = new Secret("another-token");
    const first = client({ token: same, rereadToken: async () => same });
    expect(await first.send(LIST)).toMatchObject({ kind: "refused", status: 401 });
    const second = client({ rereadToken: () => Promise.reject(new Error("the token file holds no token")) });
    const outcome = await second.send(LIST);
    expect(outcome).toMatchObject({ kind: "refused", status: 401 });
    const verdict = verdictOf(outcome, { attempt: 1, random: 0.5, now: 0, remainingCredits: null });
    if (verdict.kind !== "stop") throw new Error(`the verdict is ${verdict.kind}`);
    expect(new DuckmirrorError(verdict.code, verdict.context).message).toBe(
      "The service refused the credentials (401 on GET /v1/accounts, page 1). The token could not be read again: the token file holds no token",
    );
  });
});
