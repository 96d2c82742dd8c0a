// What the page asks for: figures of the snapshot, a run with its requests, the explorer and its limits, the way to the login.

import { statSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { TABLE_NAMES } from "../../../../src/catalog/tables.ts";
import { Secret } from "../../../../src/core/secret.ts";
import type { DeliveryState } from "../../../../src/deliver/delivery-results.ts";
import type { Server } from "../../../../src/server/app.ts";
import type { ServedProfile } from "../../../../src/server/http/server-context.ts";
import { HERE, mirrorForFile } from "../served-mirror.ts";

const key = new Secret("0123456789abcdef0123456789abcdef");

const mirror = await mirrorForFile(3);
const server = await mirror.server();
/** Answers of a server whose profile has more than a snapshot. */
const getWith = async (url: string, more: Partial<ServedProfile>) => {
  const profiles = [{ name: "default", snapshot: mirror.snapshot, ratePerMinute: 300, ...more }];
  const { app } = await mirror.server({ profiles });
  return (await app.inject({ url, headers: HERE })).json();
};
const statusOf = async (url: string) => (await server.app.inject({ url, headers: HERE })).statusCode;

const get = async (url: string) => (await server.app.inject({ url, headers: HERE })).json();
const query = async (sql: string, more: object = {}) => {
  const answer = await server.app.inject({
    method: "POST",
    url: "/api/query",
    headers: HERE,
    payload: { sql, ...more },
  });
  return { status: answer.statusCode, body: answer.json() };
};

describe("figures", () => {
  test("hold one row per table, the runs with their cost, and readings of the credits", async () => {
    const status = await get("/api/status");
    expect(status.tables).toHaveLength(TABLE_NAMES.length);
    expect(status.tables[0]).toMatchObject({ table_name: "accounts", row_count: 3, failed_scopes: 0 });
    expect(status.runs).toHaveLength(1);
    expect(status.runs[0]).toMatchObject({ status: "done", credits: mirror.sandbox.stats().credits.used });
    // The usage routes cost a credit each and are read last, so the service's own figure is a few ahead of the truth.
    const left = mirror.sandbox.stats().credits.remaining;
    expect(status.credits.readings.at(-1).remaining - left).toBeLessThanOrEqual(3);
    expect(status.rate_allowed).toBe(300);
    expect(await get("/api/destinations")).toEqual({ destinations: [] });
  });

  test("hold each destination with the age of its snapshot behind the published one", async () => {
    const publishedAt = statSync(mirror.snapshot).mtimeMs - 7_200_000;
    const held = { n: 3, publishedAt, deliveredAt: 5_000, ms: 10, leftOut: [] };
    const totals = { deliveries: 1, failures: 0, ms: 10, written: 3, deleted: 0, bytes: 9 };
    const crm: DeliveryState = { name: "crm", kind: "postgres", note: { v: 1, held, failing: null, totals } };
    const [found] = (await getWith("/api/destinations", { deliveries: async () => [crm] })).destinations;
    expect(found).toMatchObject({ name: "crm", state: "behind", change: 3, deliveredAt: 5_000, failing: null });
    // The file was written a moment after the time that it names.
    expect(found.behindMs).toBeCloseTo(7_200_000, -5);
  });

  test("of growth end at what the tables hold", async () => {
    const { growth } = await get("/api/growth");
    const points = z.array(z.object({ table_name: z.string(), row_count: z.number() })).parse(growth);
    expect(points.filter(({ table_name }) => table_name === "accounts").at(-1)?.row_count).toBe(3);
  });

  test("of a run lead to its changes by table, its streams and its requests, failed ones first", async () => {
    const { runs } = await get("/api/runs");
    const run = await get(`/api/runs/${runs[0].run_id}`);
    expect(run.changed).toContainEqual({ table_name: "accounts", change: "insert", rows: 3 });
    expect(run.streams.map((row: { stream: string }) => row.stream)).toContain("contacts");
    const { requests } = await get(`/api/runs/${runs[0].run_id}/requests?stream=accounts`);
    expect(requests.map((row: { status: number }) => row.status)).toEqual([400, 200]);
    expect(await statusOf("/api/runs/nothing")).toBe(404);
  });

  test("older runs come page by page", async () => {
    const { runs } = await get("/api/runs");
    expect((await get(`/api/runs?before=${runs[0].started_at}`)).runs).toEqual([]);
    expect(await statusOf("/api/runs?before=x")).toBe(400);
  });
});

describe("records", () => {
  test("every table and view comes with the meaning of its columns, and functions for completion", async () => {
    const { tables, functions } = await get("/api/tables");
    const names = tables.map(({ schema, name }: { schema: string; name: string }) => `${schema}.${name}`);
    expect(names).toEqual(
      expect.arrayContaining(["main.accounts", "history.accounts", "marts.account_360", "sync.runs"]),
    );
    expect(functions).toEqual(expect.arrayContaining(["sum", "regexp_matches"]));
  });

  test("a table comes with its rows, how many values each column holds, and a sample cut off", async () => {
    const { table, row_count, filled, sample } = await get("/api/tables/accounts");
    expect([row_count, filled[0], sample.length]).toEqual([3, 3, 3]);
    expect(filled).toHaveLength(table.columns.length);
    expect(Math.max(...sample.flat().map((text: string | null) => text?.length ?? 0))).toBeLessThanOrEqual(200);
    for (const name of ["nothing", "accounts%22%3B", "runs"]) {
      expect((await server.app.inject({ url: `/api/tables/${name}`, headers: HERE })).statusCode).toBe(404);
    }
  });

  test("accounts are found by words and led by score; one has its score, events and changes", async () => {
    const { accounts, total, more } = await get("/api/accounts");
    expect([accounts.length, total, more]).toEqual([3, 3, false]);
    const scores = accounts.map(({ main_score }: { main_score: number | null }) => main_score ?? -1);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    const [first] = accounts;
    expect((await get(`/api/accounts?q=${encodeURIComponent(first.name)}`)).total).toBe(
      accounts.filter(({ name }: { name: string }) => name.includes(first.name)).length,
    );
    expect((await get(`/api/accounts?q=${encodeURIComponent(first.name.toUpperCase())}`)).accounts[0].account_id).toBe(
      first.account_id,
    );
    const found = await get(`/api/accounts/${first.account_id}`);
    expect(found.account).toMatchObject({ account_id: first.account_id, name: first.name, score: first.main_score });
    const { body } = await query(`select count(*) as n from signals where account_id = ${first.account_id}`);
    const signals = found.counts.find(({ kind }: { kind: string }) => kind === "signal")?.events ?? 0;
    expect(signals).toBe(body.rows[0][0]);
    const times = found.events.map(({ at }: { at: number | null }) => at ?? Number.NEGATIVE_INFINITY);
    expect(times).toEqual([...times].sort((a, b) => b - a));
    expect(await statusOf("/api/accounts/none")).toBe(404);
  });

  test("settings come with their origin and without a secret, only where the server shows them", async () => {
    expect(await statusOf("/api/settings")).toBe(404);
    const { settings } = await getWith("/api/settings", { settings: () => mirror.config.shownSettings });
    const token = { name: "token", value: "set", from: "DUCKMIRROR_TOKEN" };
    expect(settings).toContainEqual(expect.objectContaining(token));
    expect(JSON.stringify(settings)).not.toContain(mirror.sandbox.token);
  });

  test("the verdict names the next sync where this process starts it", async () => {
    const next = Date.UTC(2030, 0, 2, 3, 4);
    const status = await getWith("/api/status", { nextSyncAt: () => next });
    expect([status.next_sync_at, status.verdict.text]).toEqual([
      next,
      expect.stringContaining("Next sync 2030-01-02 03:04 UTC."),
    ]);
  });
});

test("a wrong address is a page for a person and an error for a program; every page has an address", async () => {
  const open = (url: string, accept: string) => server.app.inject({ url, headers: { ...HERE, accept } });
  const lost = await open("/nowhere", "text/html");
  expect([lost.statusCode, lost.headers["content-type"]]).toEqual([404, "text/html; charset=utf-8"]);
  expect((await open("/nowhere", "application/json")).json()).toMatchObject({ error: { code: "NOT_FOUND" } });
  for (const url of ["/", "/tables/contacts", "/accounts/7", "/runs/x", "/credits", "/explorer", "/settings"]) {
    expect((await open(url, "text/html")).statusCode).toBe(200);
  }
});

describe("the explorer", () => {
  test("answers with columns, types and exact values", async () => {
    const sql = "select 9007199254740993 as big, 1.5 as number, 'a' as text, null as nothing, [1,2] as list";
    const { body } = await query(sql);
    const names = body.columns.map(({ name }: { name: string }) => name);
    expect(names).toEqual(["big", "number", "text", "nothing", "list"]);
    expect(body.rows).toEqual([["9007199254740993", 1.5, "a", null, [1, 2]]]);
  });

  test("stops at the number of rows asked for and says that there are more", async () => {
    const { body } = await query("from range(100000)", { limit: 7 });
    expect([body.rows.length, body.truncated]).toEqual([7, true]);
    expect((await query("from range(7)", { limit: 7 })).body.truncated).toBe(false);
  });

  test("stops at the size a browser can take", async () => {
    const { body } = await query("select repeat('x', 1000000) as text from range(100)", { limit: 100 });
    expect([body.rows.length < 12, body.truncated]).toEqual([true, true]);
  });

  test.each(["insert into accounts (id) values (1)", "select * from read_text('/etc/passwd')"])(
    "refuses %s",
    async (sql) => {
      const { status, body } = await query(sql);
      expect([status, body.error.code]).toEqual([400, "SQL_REFUSED"]);
    },
  );

  test("offers every saved query with its question, and each of them runs", async () => {
    const { queries } = await get("/api/queries");
    expect(queries.length).toBeGreaterThan(15);
    const named = queries as readonly { readonly name: string; readonly question: string; readonly sql: string }[];
    expect(named.filter(({ question }) => !question.endsWith("?") && question.length <= 10)).toEqual([]);
    // All in one statement: each statement runs in a process of its own.
    const rows = named.map(({ sql }) => `(SELECT to_json(list(q)) FROM (${sql.replace(/;\s*$/, "")}\n) AS q)`);
    const { status, body } = await query(`SELECT ${rows.join(", ")}`);
    expect([status, body.error, body.rows?.[0]?.length]).toEqual([200, undefined, named.length]);
  });

  test("takes feedback only where there is a service to send it to", async () => {
    const ask = (app: Server["app"], payload: object) =>
      app.inject({ method: "POST", url: "/api/feedback", headers: HERE, payload });
    expect((await ask(server.app, { message: "x" })).statusCode).toBe(404);
    const { snapshot } = mirror;
    const sendFeedback = async () => ({ receipt: {}, credits: 1 });
    const { app } = await mirror.server({ profiles: [{ name: "a", snapshot, ratePerMinute: null, sendFeedback }] });
    expect((await ask(app, { message: "x", category: "other" })).json()).toEqual({ receipt: {}, credits: 1 });
    expect((await ask(app, { message: "" })).statusCode).toBe(400);
  });
});

test("the login leads a person there and back, never to another site", async () => {
  const { app } = await mirror.server({ key });
  const page = await app.inject({ url: "/reference", headers: { ...HERE, accept: "text/html" } });
  expect([page.statusCode, page.headers.location]).toEqual([303, "/login?next=%2Freference"]);
  const form = { "content-type": "application/x-www-form-urlencoded", origin: "http://127.0.0.1:8737" };
  for (const [next, target] of [
    ["/reference", "/reference"],
    ["//evil.example", "/"],
    ["/\\evil.example", "/"],
    ["https://evil.example", "/"],
  ] as const) {
    const payload = `key=${key.reveal()}&next=${encodeURIComponent(next)}`;
    const answer = await app.inject({ method: "POST", url: "/login", headers: { ...HERE, ...form }, payload });
    expect([next, answer.statusCode, answer.headers.location]).toEqual([next, 303, target]);
  }
});
