// The local API: at no credit, with the time of the data. generated-client.test.ts compares its answers with the service's.
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { HERE, mirrorForFile } from "../served-mirror.ts";

const envelope = z.object({ meta: z.object({ timestamp: z.string(), totalCount: z.number().optional() }).loose() });

const mirror = await mirrorForFile();
const server = await mirror.server();

const local = async (url: string) => {
  const answer = await server.app.inject({ url, headers: HERE });
  return { status: answer.statusCode, headers: answer.headers, body: envelope.parse(answer.json()) };
};
describe("the local API", () => {
  test("costs the organization no credit", async () => {
    const before = mirror.sandbox.stats().credits.used;
    for (const url of ["/v1/accounts", "/v1/contacts", "/v1/usage"]) await local(url);
    expect(mirror.sandbox.stats().credits.used).toBe(before);
  });

  test("shows the time of the data and its age", async () => {
    const { headers, body } = await local("/v1/accounts");
    const age = Number(headers["x-duckmirror-data-age"]);
    expect(body.meta.timestamp).toBe(headers["x-duckmirror-data-time"]);
    expect(headers.age).toBe(String(age));
    expect(Math.abs(Date.now() - Date.parse(body.meta.timestamp) - age * 1000)).toBeLessThan(5000);
  });

  test("HEAD has the status and the headers of GET, and no body", async () => {
    const ask = (method: "GET" | "HEAD", url: string) => server.app.inject({ url, method, headers: HERE });
    const [get, head] = [await ask("GET", "/v1/accounts"), await ask("HEAD", "/v1/accounts")];
    expect([head.statusCode, head.headers.etag, head.body]).toEqual([200, get.headers.etag, ""]);
    expect((await ask("HEAD", "/v1/accounts/999999999")).statusCode).toBe(404);
    expect((await ask("HEAD", "/v1/feedback")).statusCode).toBe(405);
  });

  test("serves each profile under its own address, which its OpenAPI document names", async () => {
    expect((await local("/profiles/default/v1/accounts")).status).toBe(200);
    const document = await server.app.inject({ url: "/profiles/default/openapi.json", headers: HERE });
    expect(document.json().servers).toEqual([{ url: "http://127.0.0.1:8737/profiles/default" }]);
  });

  test("a client that has an answer gets 304 until the next publish, and the same bytes compressed if it accepts that", async () => {
    const url = "/v1/signals?perPage=20";
    const ask = (headers: Record<string, string>, at = url) =>
      server.app.inject({ url: at, headers: { ...HERE, ...headers } });
    const plain = await ask({});
    const etag = String(plain.headers.etag);
    expect((await ask({}, `${url}&nothing=1&page=1`)).headers.etag).toBe(etag);
    expect((await ask({}, `${url}&page=2`)).headers.etag).not.toBe(etag);
    const known = await ask({ "if-none-match": `"other", ${etag}` });
    expect([known.statusCode, known.body, known.headers.etag]).toEqual([304, "", etag]);
    expect(known.headers["x-duckmirror-data-age"]).toBeDefined();
    const zipped = await ask({ "accept-encoding": "gzip" });
    expect(zipped.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding", etag });
    expect(gunzipSync(zipped.rawPayload).toString()).toBe(plain.body);
    await mirror.sandbox.evolve(5);
    await mirror.sync({ full: true });
    expect((await ask({ "if-none-match": etag })).statusCode).toBe(200);
  });

  test("answers whose content depends on the time of the request are never kept", async () => {
    const usage = () => server.app.inject({ url: "/v1/usage", headers: HERE });
    const [one, two] = [await usage(), await usage()];
    expect(one.headers.etag).toBeUndefined();
    expect(one.json().meta.requestId).not.toBe(two.json().meta.requestId);
  });

  test("shows a new publish at once, also while the old one is being read", async () => {
    const count = async () => (await local("/v1/signals")).body.meta.totalCount;
    const before = await count();
    await mirror.sandbox.evolve(30);
    const reading = Promise.all(Array.from({ length: 20 }, () => local("/v1/contacts?perPage=500")));
    await mirror.sync({ full: true });
    await reading;
    expect(await count()).not.toBe(before);
  });
});
