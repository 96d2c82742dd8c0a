// The routes that start, follow and cancel syncs, with a stand-in for the worker.
import { expect, test } from "vitest";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import type { SyncRequest, SyncTriggers } from "../../../../src/core/report/triggers.ts";
import { HERE, mirrorForFile } from "../served-mirror.ts";

const mirror = await mirrorForFile(1);

const worker = () => {
  const asks: SyncRequest[] = [];
  const triggers: SyncTriggers = {
    start: async (ask) => {
      asks.push(ask);
      return { runId: `run-${asks.length}`, joined: asks.length > 1 };
    },
    find: async (runId) =>
      runId === "run-1"
        ? { runId, state: "done", profile: "default", askedAt: 5, report: { status: "done" }, error: null }
        : null,
    cancel: async (runId) => runId === "run-1",
  };
  return { asks, triggers };
};

const served = async () => {
  const { asks, triggers } = worker();
  const { app } = await mirror.server({ triggers });
  const ask = async (method: "GET" | "POST" | "DELETE", url: string, payload?: object, headers = {}) => {
    const answer = await app.inject({ method, url, headers: { ...HERE, ...headers }, ...(payload ? { payload } : {}) });
    return { status: answer.statusCode, headers: answer.headers, body: answer.json() };
  };
  return { asks, ask };
};

test("a sync is accepted with a run id and where to follow it", async () => {
  const { asks, ask } = await served();
  const body = { streams: ["accounts", " signals "], full: true };
  const answer = await ask("POST", "/api/syncs", body, { "idempotency-key": "cron-1" });
  expect([answer.status, answer.headers.location]).toEqual([202, "/api/syncs/run-1"]);
  expect(answer.body).toEqual({ run_id: "run-1", joined: false, url: "/api/syncs/run-1" });
  expect(asks).toEqual([
    { streams: ["accounts", "signals"], full: true, profile: null, timeoutMs: null, idempotencyKey: "cron-1" },
  ]);
});

test("a post without a body asks for whatever is due", async () => {
  const { asks, ask } = await served();
  expect((await ask("POST", "/api/syncs")).status).toBe(202);
  expect(asks).toEqual([{ streams: [], full: false, profile: null, timeoutMs: null, idempotencyKey: null }]);
});

test("a sync of streams that need others can include those", async () => {
  const { asks, ask } = await served();
  expect((await ask("POST", "/api/syncs", { streams: ["filings"], with_parents: true })).status).toBe(202);
  expect((await ask("POST", "/api/syncs", { streams: ["signals"], with_parents: true })).status).toBe(202);
  expect(asks).toMatchObject([{ streams: ["accounts", "filings"] }, { streams: ["signals"] }]);
});

test("a sync can be of certain lists anew, or of what is dated after a day", async () => {
  const { asks, ask } = await served();
  expect((await ask("POST", "/api/syncs", { reset: ["filings:7"] })).status).toBe(202);
  expect((await ask("POST", "/api/syncs", { since: "2026-11-01" })).status).toBe(202);
  expect(asks).toMatchObject([
    { streams: [], reset: ["filings:7"] },
    { streams: [], since: "2026-11-01" },
  ]);
});

test("a sync can be given a time limit", async () => {
  const { asks, ask } = await served();
  expect((await ask("POST", "/api/syncs", { timeout: "15m" })).status).toBe(202);
  expect(asks).toMatchObject([{ timeoutMs: 900_000 }]);
  expect(await ask("POST", "/api/syncs", { timeout: "soon" })).toMatchObject({
    status: 400,
    body: { error: { code: "USAGE", message: 'timeout: "soon" is not a duration like 90s, 15m or 2h' } },
  });
});

test("what is not understood is refused by name, and nothing starts", async () => {
  const { asks, ask } = await served();
  expect(await ask("POST", "/api/syncs", { fulll: true })).toMatchObject({
    status: 400,
    body: { error: { code: "USAGE" } },
  });
  expect(await ask("POST", "/api/syncs", { streams: "accounts" })).toMatchObject({
    status: 400,
    body: { error: { code: "USAGE", message: expect.stringContaining("streams") } },
  });
  expect(await ask("POST", "/api/syncs", { profile: "nobody" })).toMatchObject({ status: 404 });
  expect((await ask("POST", "/api/syncs", {}, { "idempotency-key": "x".repeat(300) })).status).toBe(400);
  expect(asks).toEqual([]);
});

test("an idempotency key that was used for another sync is answered with 422", async () => {
  const { triggers } = worker();
  const start = async () => {
    throw new DuckmirrorError("IDEMPOTENCY_REUSED", { run: "run-1" });
  };
  const { app } = await mirror.server({ triggers: { ...triggers, start } });
  const answer = await app.inject({ method: "POST", url: "/api/syncs", headers: { ...HERE, "idempotency-key": "k" } });
  expect([answer.statusCode, answer.json().error.code]).toEqual([422, "IDEMPOTENCY_REUSED"]);
});

test("a run is found with its report, and cancelled while it is known", async () => {
  const { ask } = await served();
  expect((await ask("GET", "/api/syncs/run-1")).body).toEqual({
    run_id: "run-1",
    state: "done",
    profile: "default",
    asked_at: 5,
    report: { status: "done" },
    error: null,
    due_at: null,
    progress: null,
  });
  expect((await ask("GET", "/api/syncs/run-9")).status).toBe(404);
  expect((await ask("DELETE", "/api/syncs/run-1")).status).toBe(202);
  expect((await ask("DELETE", "/api/syncs/run-9")).status).toBe(404);
});

test("a server that starts nothing says so, and what does", async () => {
  const { app } = await mirror.server();
  for (const [method, url] of [
    ["POST", "/api/syncs"],
    ["GET", "/api/syncs/run-1"],
    ["DELETE", "/api/syncs/run-1"],
    ["POST", "/api/verifications"],
  ] as const) {
    const answer = await app.inject({ method, url, headers: HERE });
    expect([url, answer.statusCode, answer.json().error.code]).toEqual([url, 409, "SYNCS_NOT_STARTED_HERE"]);
  }
});
