// The same seed, accounts and present give the same service; another seed another one.
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { TABLE_NAMES } from "../../../src/catalog/tables.ts";
import type { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { tempDir } from "../warehouse/temp-dir.ts";
import { fakeClock, get, NOW, send, walk, withSandbox } from "./sandbox-client.ts";

const GENERATED = TABLE_NAMES.filter((name) => !name.startsWith("usage_") && name !== "signal_counts");

/** One number per table that any difference in any value would change. */
const fingerprint = async (sandbox: Sandbox): Promise<Record<string, string>> => {
  const parts = await Promise.all(
    GENERATED.map(async (table) => {
      const rows = await sandbox.database.query(
        `SELECT concat(count(*), ':', sum(hash(CAST(t AS VARCHAR))::HUGEINT)) AS print FROM main."${table}" AS t`,
        [],
        z.object({ print: z.string() }),
      );
      return [table, rows[0]?.print ?? ""];
    }),
  );
  return Object.fromEntries(parts);
};

test("two sandboxes of one seed, started at the same time, hold the same rows and change alike", async () => {
  const run = (seed: number) =>
    withSandbox({ seed, accounts: 5, clock: fakeClock() }, async (sandbox) => {
      const before = await fingerprint(sandbox);
      const changes = await sandbox.evolve(40);
      return { before, changes, after: await fingerprint(sandbox), token: sandbox.token };
    });
  const [one, same, other] = await Promise.all([run(7), run(7), run(8)]);
  expect(same).toEqual(one);
  expect(one.after).not.toEqual(one.before);
  expect(other.before.accounts).not.toBe(one.before.accounts);
});

test("the rows of a seed do not change from one version to the next, nor does their order in a table", async () => {
  await withSandbox({ seed: 7, accounts: 3, bigIds: true, clock: fakeClock() }, async (sandbox) => {
    const prints = await Promise.all(
      GENERATED.map(async (table) => {
        const rows = await sandbox.database.query(
          `SELECT md5(string_agg(CAST(t AS VARCHAR), '|')) AS print FROM main."${table}" AS t`,
          [],
          z.object({ print: z.string().nullable() }),
        );
        return [table, rows[0]?.print];
      }),
    );
    expect(Object.fromEntries(prints)).toMatchInlineSnapshot(`
      {
        "account_insights": "84395ac374e1e48d234d942884e6861c",
        "accounts": "d533ce28cb3c0de5541800cb9b21c1f5",
        "companies": "93ea2e148f9832090260fe9217bec9b6",
        "company_inputs": null,
        "contacts": "75213cb86914223e2b877413fd6647a2",
        "earnings_calls": "01fdb73e9f4887162b7ef88368e6c3cd",
        "filings": "37e3a0b5e8e25f31de4b28d6ba10f7d9",
        "job_openings": "95ae2ccaf6e9aba8145d5ed74c1442b9",
        "news_articles": "f3247f8aadccdd92a291305cab904735",
        "owners": "88abcad1c4346672de61554b37858ff0",
        "signals": "ff4147218013479f36edfd7deb39f220",
      }
    `);
  });
});

test("records lie in the past, up to two years back, and an account has about as many of them as in the business", async () => {
  await withSandbox({ accounts: 60 }, async (sandbox) => {
    const [span] = await sandbox.database.query(
      `SELECT min(date) AS oldest, max(greatest(date, created_at, updated_at)) AS newest,
         (SELECT max(updated_at) FROM main.accounts) AS refreshed,
         (SELECT max(last_change_detected_on) FROM main.contacts) AS changed FROM main.signals`,
      [],
      z.object({ oldest: z.number(), newest: z.number(), refreshed: z.number(), changed: z.number() }),
    );
    expect(Math.max(span?.newest ?? 0, span?.refreshed ?? 0, span?.changed ?? 0)).toBeLessThanOrEqual(NOW);
    expect(NOW - (span?.oldest ?? 0)).toBeGreaterThan(700 * 86_400_000);
    const total = async (path: string) => (await get(sandbox, `${path}?perPage=1`)).meta?.totalCount ?? 0;
    const contacts = (await total("/v1/contacts")) / 60;
    const signals = (await total("/v1/signals")) / 60;
    expect(contacts).toBeGreaterThan(6);
    expect(contacts).toBeLessThan(12);
    expect(signals).toBeGreaterThan(20);
    expect(signals).toBeLessThan(40);
    const rows = await walk(sandbox, "/v1/contacts?onlyWithFields=firstName,email,phone");
    // People of several languages, and optional fields that are missing now and then.
    expect(rows.filter(({ firstName }) => /[^ -~]/.test(String(firstName))).length).toBeGreaterThan(20);
    expect(rows.some(({ email }) => email === undefined) && rows.some(({ email }) => email !== undefined)).toBe(true);
  });
});

test("numeric ids beyond 2^53 come through every digit", async () => {
  await withSandbox({ bigIds: true }, async (sandbox) => {
    const [row] = await sandbox.database.query(
      "SELECT CAST(max(id) AS VARCHAR) AS id, CAST(max_by(account_id, id) AS VARCHAR) AS account FROM main.signals",
      [],
      z.object({ id: z.string(), account: z.string() }),
    );
    expect(Number(row?.id)).toBeGreaterThan(Number.MAX_SAFE_INTEGER);
    const list = await send(sandbox, "/v1/signals?sortBy=id&perPage=1");
    expect(list.text).toContain(`"data":[{"id":${row?.id},`);
    expect(list.text).toContain(`"accountId":${row?.account},`);
    expect((await send(sandbox, `/v1/signals/${row?.id}`)).text).toContain(`{"data":{"id":${row?.id},`);
    const contacts = await send(sandbox, `/v1/contacts?accountId=${row?.account}&include=account`);
    expect(contacts.text).toContain(`"accounts":[{"id":${row?.account},`);
    const insight = await send(sandbox, `/v1/account-insights?accountId=${row?.account}`);
    expect(insight.text).toContain(`"accountId":${row?.account},`);
  });
});

test("a temporary warehouse goes with the sandbox, a kept one is found again with its history", async () => {
  const temporary = await withSandbox({}, async (sandbox) => dirname(sandbox.database.file));
  expect(existsSync(temporary)).toBe(false);
  const dir = tempDir();
  const clock = fakeClock();
  const first = await withSandbox({ dir, clock, credits: 500 }, async (sandbox) => {
    await sandbox.evolve(10);
    await get(sandbox, "/v1/accounts");
    return fingerprint(sandbox);
  });
  clock.advance(3_600_000);
  await withSandbox({ dir, clock, credits: 500 }, async (sandbox) => {
    expect(await fingerprint(sandbox)).toEqual(first);
    expect(sandbox.stats().credits.used).toBe(1);
  });
  await withSandbox({ dir, seed: 2, clock }, async (sandbox) => {
    expect((await fingerprint(sandbox)).accounts).not.toBe(first.accounts);
  });
});
