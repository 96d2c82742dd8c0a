// The MCP server as an assistant's client sees it: tools, answers that equal SQL, provenance and the purse.
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../src/core/clock.ts";
import { snapshotPath } from "../../../src/core/data-dir.ts";
import type { MirrorBackend, PaidResult } from "../../../src/mcp/backend.ts";
import { createMcpServer, openPurse, type PurseLimits } from "../../../src/mcp/server.ts";
import { openSnapshot, streamQuery } from "../../../src/warehouse/read/query.ts";
import { change } from "../../support/change-mirror.ts";
import { aCheckpoint, aLoad, aSignal } from "../warehouse/checkpoints.ts";
import { dirForFile, tempDir } from "../warehouse/temp-dir.ts";

const dataDir = dirForFile();
await change(dataDir, async (warehouse) => {
  const account = { organizationId: "o", type: "prospect", createdAt: "2024-01-01", updatedAt: "2024-01-01" };
  const signals = Array.from({ length: 20 }, (_, index) =>
    aSignal(100 + index, { accountId: 1, headline: `Signal ${index}`, date: "2024-06-01" }),
  );
  const named = { ...account, id: 1, companyId: "c1", name: "Aurora Labs", domain: "aurora.example", mainScore: 70 };
  await warehouse.commit(aCheckpoint([aLoad("accounts", [named, { ...account, id: 2, name: "Aurora Bank" }])]));
  await warehouse.commit(aCheckpoint([aLoad("signals", [...signals, aSignal(9007199254740993n, { accountId: 2 })])]));
  await warehouse.commit(aCheckpoint([aLoad("accounts", [{ ...named, mainScore: 47.7 }])]));
});

const purchases: string[] = [];
const bought = (what: string, credits: number): PaidResult => {
  purchases.push(what);
  return { value: { status: "found" }, credits };
};

const doorOf = (): MirrorBackend => {
  const snapshot = snapshotPath(dataDir);
  return {
    dataDir,
    read: async (work) => {
      const database = await openSnapshot(snapshot);
      return work(database, snapshot).finally(() => database.close());
    },
    query: (sql, signal, use) => streamQuery({ snapshot, sql, signal }, use),
    plan: () => Promise.resolve({ credits: 3 }),
    known: ({ input }) =>
      Promise.resolve(input === "aurora.example" ? { value: { source: "mirror" }, credits: 0 } : null),
    lookup: ({ input }) => Promise.resolve(bought(`lookup ${input}`, 1)),
    sync: (streams, credits) => Promise.resolve(bought(`sync ${streams} ${credits}`, Math.min(credits, 2))),
  };
};

const connect = async (limits: PurseLimits | null = null) => {
  purchases.length = 0;
  const purse = limits === null ? null : openPurse(limits, tempDir(), systemClock);
  const server = createMcpServer(doorOf(), { purse, clock: systemClock, version: "1.2.3" });
  const [here, there] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "test", version: "1" });
  await Promise.all([server.connect(there), client.connect(here)]);
  onTestFinished(() => client.close());
  return client;
};

const provenance = z.looseObject({ as_of: z.string().nullable(), complete: z.boolean() });
const ask = async (client: Client, name: string, args: Record<string, unknown> = {}) => {
  const { content, structuredContent, isError } = await client.callTool({ name, arguments: args });
  const [first] = content;
  expect(first?.type === "text" ? JSON.parse(first.text) : null).toEqual(structuredContent);
  if (isError) return z.looseObject({ error: z.looseObject({ code: z.string() }) }).parse(structuredContent);
  return provenance.parse(structuredContent);
};

test("without a purse there are seven tools, all read-only, and none that spends", async () => {
  const { tools } = await (await connect()).listTools();
  const names = ["describe", "query", "search", "brief", "changes", "freshness", "plan"];
  expect(tools.map(({ name }) => name)).toEqual(names);
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true);
});

test("a brief, a search, changes and a query say the same as the mirror, with every digit", async () => {
  const client = await connect();
  expect(await ask(client, "query", { sql: "SELECT max(id) AS id FROM signals" })).toMatchObject({
    rows: [["9007199254740993"]],
    truncated: false,
    complete: false,
  });
  const brief = await ask(client, "brief", { account: "Aurora Labs" });
  expect(brief).toMatchObject({ status: "found", brief: { account: { account_id: 1, main_score: 47.7 } } });
  expect(JSON.stringify(brief.brief)).toContain("Aurora Labs: main_score 70.0 → 47.7");
  expect(await ask(client, "brief", { account: "aurora" })).toMatchObject({ status: "several" });
  expect(await ask(client, "brief", { account: "nobody" })).toMatchObject({ status: "not_found" });
  expect(await ask(client, "search", { words: "bank", tables: ["accounts"] })).toMatchObject({
    results: [{ table: "accounts", key: { id: 2 }, title: "Aurora Bank" }],
  });
  const changes = await ask(client, "changes", { tables: ["accounts"], after: 2 });
  expect(changes).toMatchObject({ changes: [{ change: "update", what: "main_score 70 → 47.7" }] });
  expect(await ask(client, "plan")).toMatchObject({ plan: { credits: 3 } });
});

test("tables are explained, and long answers are cut and say so", async () => {
  const client = await connect();
  expect(await ask(client, "describe", { table: "contacts" })).toMatchObject({ table: "contacts", key: ["id"] });
  expect(await ask(client, "describe", { table: "contcts" })).toMatchObject({ error: { code: "USAGE" } });
  expect(await ask(client, "query", { sql: "FROM range(500)", max_rows: 3 })).toMatchObject({
    rows: [[0], [1], [2]],
    truncated: true,
  });
  const wide = await ask(client, "query", { sql: "SELECT repeat('x', 1000) AS x FROM range(200)" });
  expect(wide).toMatchObject({ truncated: true });
  expect(JSON.stringify(wide).length).toBeLessThan(70_000);
  expect(await ask(client, "query", { sql: "SELECT nonsense" })).toMatchObject({ error: { code: "QUERY_FAILED" } });
});

test("a purse of one session buys one lookup; the next is refused by an answer, not by an error", async () => {
  const client = await connect({ session: 1 });
  expect(await ask(client, "lookup", { kind: "company", input: "aurora.example" })).toMatchObject({
    credits: 0,
    source: "mirror",
  });
  expect(await ask(client, "lookup", { kind: "company", input: "new.example" })).toMatchObject({
    credits: 1,
    purse_left: 0,
  });
  expect(await ask(client, "lookup", { kind: "company", input: "other.example" })).toMatchObject({
    status: "out_of_purse",
    reason: "This costs 1 credit(s); the purse holds 0.",
    credits: 0,
  });
  expect(purchases).toEqual(["lookup new.example"]);
});

test("a sync spends at most what was asked for and what the purse holds", async () => {
  const client = await connect({ session: 5, call: 3 });
  expect(await ask(client, "sync", { streams: ["accounts"], max_credits: 100 })).toMatchObject({
    credits: 2,
    purse_left: 3,
  });
  expect(purchases).toEqual(["sync accounts 3"]);
});

test("resources and prompts", async () => {
  const client = await connect();
  const { resources } = await client.listResources();
  expect(resources.map(({ name }) => name)).toEqual(["dictionary", "queries", "freshness"]);
  for (const { uri } of resources) {
    const [content] = (await client.readResource({ uri })).contents;
    expect(content !== undefined && "text" in content ? JSON.parse(content.text).length : 0).toBeGreaterThan(5);
  }
  const prompt = await client.getPrompt({ name: "meeting-brief", arguments: { account: "Aurora Labs" } });
  expect(JSON.stringify(prompt.messages)).toContain("meeting with Aurora Labs");
});
