// The client over real sockets: every way an answer can be right or wrong ends in exactly one typed outcome.
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { ApiCall } from "../../../src/api/outcome.ts";
import * as play from "../../support/scripted-server.ts";
import { client, LIST, PADDED, PAGE, server, TOKEN, useService } from "./client-harness.ts";

const DETAIL: ApiCall = { endpoint: "getAccount", path: "/v1/accounts/7", query: {} };

useService();

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

  test("another charset counts only for bytes that are no UTF-8, compressed or not; the archive then gets UTF-8", async () => {
    const named = { data: [{ id: 1, name: "Café Müller" }], meta: PAGE.meta };
    const text = JSON.stringify(named);
    const latin = Buffer.from(text, "latin1");
    const headers = { "content-type": "application/json; charset=ISO-8859-1" };
    server.play(
      play.answer(latin, { headers }),
      play.answer(gzipSync(latin), { headers: { ...headers, "content-encoding": "gzip" } }),
      play.answer(text, { headers }),
    );
    const sender = client();
    for (let sent = 0; sent < 3; sent++)
      expect(await sender.send(LIST)).toMatchObject({
        kind: "ok",
        data: named.data,
        wire: { bytes: Buffer.from(text), encoding: "identity" },
      });
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
