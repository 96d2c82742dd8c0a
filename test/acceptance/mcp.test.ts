// duckmirror mcp as assistants meet it: the built program over stdio, and over HTTP behind keys.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { type Sandbox, startSandbox } from "../../src/sandbox/sandbox.ts";
import { runBuilt, startBuilt, syncEnv, syncWell } from "./built-cli.ts";
import { tempFolder } from "./temp-folder.ts";

let sandbox: Sandbox;
const dataDir = tempFolder();
beforeAll(async () => {
  sandbox = await startSandbox({ accounts: 3, requestsPerMinute: 1_000_000, threads: 1 });
  await syncWell(sandbox, dataDir, [], { DUCKMIRROR_RATE_LIMIT: "100000" });
});
afterAll(() => sandbox.close());

const named = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);
const READS = ["describe", "query", "search", "brief", "changes", "freshness", "plan"];

test("over stdio: SQL in the box, a lookup from the purse, the next one refused, and an end with its pipe", async () => {
  const env = { PATH: process.env.PATH ?? "", ...syncEnv(sandbox, dataDir) };
  const argv = [inject("builtCli"), "mcp", "--purse", "1/session"];
  const transport = new StdioClientTransport({ command: process.execPath, args: argv, env, stderr: "pipe" });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  onTestFinished(() => client.close());
  expect(await named(client)).toEqual([...READS, "lookup", "sync"]);
  const ask = async (name: string, args: Record<string, unknown>) =>
    (await client.callTool({ name, arguments: args })).structuredContent;
  expect(await ask("query", { sql: "SELECT count(*) AS n FROM accounts" })).toMatchObject({
    rows: [[3]],
    complete: true,
  });
  expect(await ask("query", { sql: "COPY accounts TO '/tmp/x.csv'" })).toMatchObject({ error: expect.anything() });
  expect(await ask("lookup", { kind: "company", input: "nobody.example" })).toMatchObject({
    status: "not_found",
    credits: 0,
  });
  expect(await ask("sync", { streams: ["signal_counts"], max_credits: 1 })).toMatchObject({
    purse_left: expect.any(Number),
  });
  const { pid } = transport;
  await client.close();
  expect(() => process.kill(pid ?? 0, 0)).toThrow("ESRCH");
});

test("over HTTP: a key of the role read has the tools that read, operate also those that spend, no key none", async () => {
  const keyOf = async (name: string, role: string) => {
    const { out } = await runBuilt(["key", "add", name, "--role", role, "--json", "--data-dir", dataDir], {});
    return z.object({ key: z.string() }).parse(JSON.parse(out)).key;
  };
  const [reader, operator] = [await keyOf("reader", "read"), await keyOf("operator", "operate")];
  const run = startBuilt(
    ["mcp", "--http", "127.0.0.1:0", "--purse", "1/call", "--json", "--data-dir", dataDir],
    syncEnv(sandbox, dataDir),
  );
  await new Promise<void>((resolve, reject) => {
    run.child.stdout.on("data", () => run.out().includes("\n") && resolve());
    void run.ended.then(({ err }) => reject(new Error(err)));
  });
  const { url } = z.object({ url: z.string() }).parse(JSON.parse(run.out()));
  const toolsOf = async (key: string) => {
    const client = new Client({ name: "test", version: "1" });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization: `Bearer ${key}` } } }),
    );
    const tools = await named(client);
    await client.close();
    return tools;
  };
  expect(await toolsOf(reader)).toEqual(READS);
  expect(await toolsOf(operator)).toEqual([...READS, "lookup", "sync"]);
  expect(
    (await fetch(url, { method: "POST", body: "{}", headers: { "content-type": "application/json" } })).status,
  ).toBe(401);
  run.child.kill("SIGTERM");
  expect((await run.ended).code).toBe(0);
});
