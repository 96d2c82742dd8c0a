// The routes that start, follow and cancel syncs, with a stand-in for the worker.
import { expect, test } from "vitest";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import type { SyncTriggers, TriggerRequest } from "../../../../src/core/report/triggers.ts";
import { aServer, serving } from "../../../support/served.ts";
import { HERE } from "../served-mirror.ts";

const worker = () => {
  const asks: TriggerRequest[] = [];
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
  const { app } = await aServer({ ...serving(), triggers });
  const ask = async (method: "GET" | "POST" | "DELETE", url: string, payload?: object, headers = {}) => {
    const answer = await app.inject({ method, url, headers: { ...HERE, ...headers }, ...(payload ? { payload } : {}) });
    return { status: answer.statusCode, headers: answer.headers, body: answer.json() };
  };
  return { asks, ask };
};

const DUE: TriggerRequest = { streams: [], full: false, profile: null, timeoutMs: null, idempotencyKey: null };

test("a sync is accepted with a run id and where to follow it", async () => {
  const { asks, ask } = await served();
  const body = { streams: ["accounts", " signals "], full: true };
  const answer = await ask("POST", "/api/syncs", body, { "idempotency-key": "cron-1" });
  expect([answer.status, answer.headers.location]).toEqual([202, "/api/syncs/run-1"]);
  expect(answer.body).toEqual({ run_id: "run-1", joined: false, url: "/api/syncs/run-1" });
  expect(asks).toEqual([{ ...DUE, streams: ["accounts", "signals"], full: true, idempotencyKey: "cron-1" }]);
});

test.each([
  ["whatever is due", undefined, {}],
  [
    "streams with those that they need",
    { streams: ["filings"], with_parents: true },
    { streams: ["accounts", "filings"] },
  ],
  ["streams that need no others", { streams: ["signals"], with_parents: true }, { streams: ["signals"] }],
  ["a list anew", { reset: ["filings:7"] }, { reset: ["filings:7"] }],
  ["what is dated after a day", { since: "2026-11-01" }, { since: "2026-11-01" }],
  ["what can be done in a time", { timeout: "15m" }, { timeoutMs: 900_000 }],
] as const)("a sync can be asked for %s", async (_, body, wanted) => {
  const { asks, ask } = await served();
  expect((await ask("POST", "/api/syncs", body)).status).toBe(202);
  expect(asks).toEqual([{ ...DUE, ...wanted }]);
});

test.each([
  [{ fulll: true }, 400, "USAGE", "fulll"],
  [{ streams: "accounts" }, 400, "USAGE", "streams"],
  [{ timeout: "soon" }, 400, "USAGE", 'timeout: "soon" is not a duration like 90s, 15m or 2h'],
  [{ profile: "nobody" }, 404, "NOT_FOUND", "profile"],
])("%j is refused by name, and nothing starts", async (body, status, code, named) => {
  const { asks, ask } = await served();
  const { status: answered, body: said } = await ask("POST", "/api/syncs", body);
  expect([answered, said.error.code, asks]).toEqual([status, code, []]);
  expect(said.error.message).toContain(named);
});

test("of several profiles, what changes something names one; all_profiles asks for a sync of each, and excludes a name", async () => {
  const { triggers } = worker();
  const profiles = ["acme", "bolt"].map((name) => ({ name, snapshot: "/nonexistent", ratePerMinute: null }));
  const { app } = await aServer({ ...serving(), triggers, profiles });
  const post = async (url: string, payload: object) => {
    const answer = await app.inject({ method: "POST", url, headers: HERE, payload });
    return [answer.statusCode, answer.json()];
  };
  const unnamed = [400, { error: { code: "PROFILE_UNKNOWN", message: expect.stringContaining("acme, bolt") } }];
  expect(await post("/api/syncs", {})).toMatchObject(unnamed);
  expect(await post("/api/verifications", {})).toMatchObject(unnamed);
  expect(await post("/api/following", { inputs: ["a.example"] })).toMatchObject(unnamed);
  expect(await post("/api/feedback", { message: "m" })).toMatchObject(unnamed);
  expect(await post("/api/syncs", { all_profiles: true, profile: "acme" })).toMatchObject([
    400,
    { error: { code: "USAGE", message: "all_profiles: excludes `profile`" } },
  ]);
  expect(await post("/api/syncs", { all_profiles: true })).toMatchObject([
    202,
    { syncs: [{ profile: "acme", url: "/api/syncs/run-1" }, { profile: "bolt" }] },
  ]);
});

test("an idempotency key is refused that is too long", async () => {
  const { asks, ask } = await served();
  expect((await ask("POST", "/api/syncs", {}, { "idempotency-key": "x".repeat(300) })).status).toBe(400);
  expect(asks).toEqual([]);
});

test("an idempotency key that was used for another sync is answered with 422", async () => {
  const { triggers } = worker();
  const start = async () => {
    throw new DuckmirrorError("IDEMPOTENCY_REUSED", { run: "run-1" });
  };
  const { app } = await aServer({ ...serving(), triggers: { ...triggers, start } });
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
  const { app } = await aServer(serving());
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
