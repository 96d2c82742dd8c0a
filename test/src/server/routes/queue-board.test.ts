// bull-board at /queues: behind the server's access check, to be looked at only, telling nothing of Redis or of keys.
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { BEARER, serveQueue } from "../served-queue.ts";

const errorSchema = z.object({ error: z.object({ code: z.string() }) });
const boardError = { code: "REDIS_UNAVAILABLE", error: "Redis does not answer.", message: expect.any(String) };
const startedSchema = z.object({ run_id: z.string() });
const profilesAnswer = z.object({ queues: z.boolean() });

test("the queues are behind the same access check as everything else, under a policy without other origins", async () => {
  const { url } = await serveQueue();
  for (const path of ["/queues", "/queues/api/queues", "/queues/static/favicon.ico"]) {
    expect((await fetch(url + path)).status).toBe(401);
  }
  const toLogin = await fetch(`${url}/queues`, { headers: { accept: "text/html" }, redirect: "manual" });
  expect([toLogin.status, toLogin.headers.get("location")]).toEqual([303, "/login?next=%2Fqueues"]);
  const page = await fetch(`${url}/queues`, { headers: BEARER });
  const policy = page.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
  expect(policy).toContain("base-uri 'self'");
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  const html = await page.text();
  expect(html).toContain('<base href="/queues/" />');
  expect(html).not.toMatch(/https?:|style=|<style|<%/);
  // The rest of the server keeps the stricter one.
  const status = await fetch(url, { headers: BEARER });
  expect(status.headers.get("content-security-policy")).toContain("base-uri 'none'");
});

test("nothing can be changed from there", async () => {
  const { url, runId } = await serveQueue();
  const change = async (method: string, path: string) =>
    (await fetch(`${url}/queues/api/${path}`, { method, headers: BEARER })).status;
  for (const action of ["pause", "empty", "obliterate", "retry/completed", "clean/completed", "promote"]) {
    expect(await change("PUT", `queues/sync/${action}`)).toBe(404);
    expect(await change("POST", `queues/sync/${action}`)).toBe(404);
  }
  expect(await change("PUT", `queues/sync/${runId}/clean`)).toBe(404);
  const answer = await fetch(`${url}/queues/api/queues?activeQueue=sync&status=completed`, { headers: BEARER });
  const text = await answer.text();
  expect(text).toContain(runId);
  expect(text).toContain('"readOnlyMode":true');
});

test("neither keys nor the address of Redis are shown", async () => {
  const { url, runId, redis } = await serveQueue();
  const paths = ["queues", "queues?activeQueue=sync&status=completed", `queues/sync/${runId}`, "redis/stats"];
  for (const path of paths) {
    const answer = await fetch(`${url}/queues/api/${path}`, { headers: BEARER });
    expect(answer.status).toBe(path === "redis/stats" ? 403 : 200);
    const text = await answer.text();
    for (const secret of ["test-token", BEARER.authorization.slice(7), new URL(redis.url).port]) {
      expect(text).not.toMatch(new RegExp(`\\b${secret}\\b`));
    }
  }
});

test("the status page links to it, and the metrics tell how deep the queues are", async () => {
  const { url } = await serveQueue();
  const profiles: unknown = await (await fetch(`${url}/api/profiles`, { headers: BEARER })).json();
  expect(profilesAnswer.parse(profiles).queues).toBe(true);
  const metrics = await (await fetch(`${url}/metrics`, { headers: BEARER })).text();
  for (const state of ["waiting", "active", "delayed", "waiting-children", "failed"]) {
    expect(metrics).toContain(`duckmirror_queue_jobs{state="${state}"} 0`);
  }
});

test("while Redis is away everything that needs it says so, the rest goes on, and all of it comes back with Redis", async () => {
  const { url, runId, redis } = await serveQueue();
  const ask = async (path: string, more: RequestInit = {}) => {
    // Nothing hangs: a command to Redis is given up after 5 s.
    const signal = AbortSignal.timeout(120_000);
    const answer = await fetch(url + path, { ...more, headers: { ...BEARER, ...more.headers }, signal });
    return { status: answer.status, text: await answer.text() };
  };
  const sync = { method: "POST", headers: { "content-type": "application/json" }, body: '{"streams":["accounts"]}' };
  await redis.kill();
  for (const path of ["queues", "queues?activeQueue=sync&status=completed", `queues/sync/${runId}`]) {
    const { status, text } = await ask(`/queues/api/${path}`);
    // The shape that its page shows.
    expect([path, status, JSON.parse(text)]).toEqual([path, 503, boardError]);
  }
  for (const path of ["/api/syncs", `/api/syncs/${runId}`]) {
    const { status, text } = await ask(path);
    expect([path, status, errorSchema.parse(JSON.parse(text)).error.code]).toEqual([path, 503, "REDIS_UNAVAILABLE"]);
  }
  const refused = await ask("/api/syncs", sync);
  expect([refused.status, errorSchema.parse(JSON.parse(refused.text)).error.code]).toEqual([503, "REDIS_UNAVAILABLE"]);
  for (const path of ["/queues", "/", "/healthz", "/readyz", "/v1/accounts", "/metrics"]) {
    expect([path, (await ask(path)).status]).toEqual([path, 200]);
  }
  const metrics = (await ask("/metrics")).text;
  expect(metrics).toMatch(/^duckmirror_redis_up 0$/m);
  expect(metrics).toContain("duckmirror_table_rows");
  expect(metrics).not.toContain("duckmirror_queue_jobs{");
  await redis.restart();
  await vi.waitFor(async () => expect((await ask("/queues/api/queues")).status).toBe(200), { timeout: 120_000 });
  const started = await vi.waitFor(
    async () => {
      const { status, text } = await ask("/api/syncs", sync);
      expect(status).toBe(202);
      return startedSchema.parse(JSON.parse(text)).run_id;
    },
    { timeout: 120_000, interval: 200 },
  );
  await vi.waitFor(async () => expect((await ask(`/api/syncs/${started}`)).text).toContain('"state":"done"'), {
    timeout: 120_000,
    interval: 200,
  });
  expect((await ask("/metrics")).text).toMatch(/^duckmirror_redis_up 1$/m);
});
