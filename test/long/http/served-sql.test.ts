// Greedy and endless statements by POST to the built server: it goes on answering others, keeps its memory, ends a
// statement that nobody waits for, and stops in time.
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { aSandbox, FAST, syncWell } from "../../acceptance/built-cli.ts";
import { tempFolder } from "../../acceptance/temp-folder.ts";
import { type Attack, ENDLESS, GREEDY, HEAVY_PLANS } from "../sql-attacks.ts";
import { type Attacked, healthMs, MOST_MEMORY_KB, MOST_WAIT_MS, peakMemory, serving } from "./attacked-server.ts";

/** The server's time limit of a statement is 30 s: one that runs for this long would run on. */
const HANG_UP_MS = 3_000;
const MOST_STOP_MS = 5_000;

const LARGE_VALUES = [
  ...[9, 150, 600].map((millions) => ({
    name: `a value of ${millions} million characters`,
    sql: `SELECT repeat('x', ${millions}000000)`,
  })),
  { name: "many values in one row", sql: `SELECT ${Array.from({ length: 60 }, () => "repeat('x', 1000000)").join()}` },
  { name: "a long list", sql: "SELECT range(5000000)" },
  { name: "a deep structure", sql: `SELECT ${"{'a': ".repeat(400)}1${"}".repeat(400)}` },
  { name: "5,000 rows of 100,000 characters", sql: "SELECT repeat('x', 100000) FROM range(5000)" },
];

const dataDir = tempFolder();
await syncWell(await aSandbox({ accounts: 5 }), dataDir, [], FAST);

const ask = ({ url }: Attacked, sql: string, signal?: AbortSignal) =>
  fetch(`${url}/api/query`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: url },
    body: JSON.stringify({ sql, limit: 5000 }),
    signal: signal ?? null,
  });

const refusal = z.object({
  error: z.object({ code: z.enum(["QUERY_LIMIT", "QUERY_FAILED", "SQL_REFUSED", "USAGE"]) }),
});
const answer = z.object({ rows: z.array(z.array(z.unknown())) });

/** Health is asked for as long as the statement runs; answers with the longest wait, ms. */
const healthUntil = async (server: Attacked, over: AbortSignal): Promise<number> => {
  let longest = 0;
  while (!over.aborted) {
    longest = Math.max(longest, await healthMs(server));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return longest;
};

/** The statement is answered, refused, or left after HANG_UP_MS; meanwhile and afterwards the server is well. */
const survives = async (server: Attacked, { name, sql }: Attack): Promise<void> => {
  const over = new AbortController();
  const health = healthUntil(server, over.signal);
  const leave = AbortSignal.timeout(HANG_UP_MS);
  try {
    const response = await ask(server, sql, leave);
    const body: unknown = await response.json();
    if (response.status === 200) answer.parse(body);
    else {
      expect(response.status, name).toBeLessThan(500);
      refusal.parse(body);
    }
  } catch (error) {
    if (!leave.aborted) throw error;
  } finally {
    over.abort();
    await health.catch(() => undefined);
  }
  expect(await health, name).toBeLessThan(MOST_WAIT_MS);
  const memory = peakMemory(server.run.child.pid);
  if (memory !== null) expect(memory, name).toBeLessThan(MOST_MEMORY_KB);
};

describe("while a statement runs, others are answered, and afterwards the server is as before", () => {
  const groups = { "large values": LARGE_VALUES, "heavy plans": HEAVY_PLANS, greedy: GREEDY, endless: ENDLESS };
  test.each(Object.entries(groups))("%s", async (_, attacks) => {
    const server = await serving(dataDir, {});
    for (const attack of attacks) await survives(server, attack);
    // At most two statements run at once, so those that were left have ended.
    await expect.poll(async () => (await ask(server, "SELECT 1")).status).toBe(200);
    const both = await Promise.all([1, 2].map((n) => ask(server, `SELECT ${n} AS n`)));
    expect(await Promise.all(both.map(async (each) => answer.parse(await each.json()).rows))).toEqual([[[1]], [[2]]]);
    expect(server.run.err()).not.toMatch(/INTERNAL Error|unhandled|by a fault of DuckDB/i);
  });
});

test.each(ENDLESS.slice(0, 1))("$name: SIGTERM ends the server within five seconds", async ({ sql }) => {
  const server = await serving(dataDir, {});
  const asked = ask(server, sql).then(
    (response) => response.status,
    () => "cut off",
  );
  await expect.poll(() => healthMs(server)).toBeLessThan(MOST_WAIT_MS);
  const startedAt = performance.now();
  server.run.child.kill("SIGTERM");
  const { code } = await server.run.ended;
  expect(performance.now() - startedAt).toBeLessThan(MOST_STOP_MS);
  expect(code).toBe(0);
  expect(await asked).not.toBe(200);
});
