// Lookups that the mirror answers: which company or account a text names, and whether the mirror is fresh enough.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { believes404, lookUpInMirror } from "../../../../src/sync/lookup/lookup-in-mirror.ts";
import { type Database, openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { migrate } from "../../../../src/warehouse/file/migrate.ts";

const NOW = Date.UTC(2026, 10, 21);
const HOUR_MS = 3_600_000;
const at = (hoursAgo: number) => `make_timestamptz(${(NOW - hoursAgo * HOUR_MS) * 1000})`;
const text = (value: string | null) => (value === null ? "NULL" : `'${value}'`);

let database: Database;
beforeAll(async () => {
  database = await openDatabase(":memory:", { threads: 1 });
  await migrate(database, NOW);
});
beforeEach(async () => {
  const tables = ["accounts", "companies", "company_inputs", "account_insights", "earnings_calls"];
  const state = ["runs", "stream_state", "requests", "capabilities"].map((table) => `sync.${table}`);
  for (const table of [...tables.map((name) => `main.${name}`), ...state]) await database.run(`DELETE FROM ${table}`);
});
afterAll(() => database.close());

const aCompany = (id: string, more: { domain?: string; symbol?: string; network?: string; hoursAgo?: number } = {}) =>
  database.run(
    `INSERT INTO main.companies (id, name, domain, main_stock_symbol, professional_network_url, _synced_at)
     VALUES ('${id}', 'Company ${id}', ${text(more.domain ?? null)}, ${text(more.symbol ?? null)},
       ${text(more.network ?? null)}, ${at(more.hoursAgo ?? 1)})`,
  );
const aCall = (id: number, company: string, happenedAt: string | null) =>
  database.run(
    `INSERT INTO main.earnings_calls (id, company_id, happened_at, full_transcript, generated_analysis)
     VALUES (${id}, '${company}', ${text(happenedAt)}, 'Good morning', '{"mood":"calm"}')`,
  );
const anAccount = (
  id: number,
  name: string,
  more: { domain?: string; score?: number; company?: string; insightHoursAgo?: number } = {},
) =>
  database
    .run(
      `INSERT INTO main.accounts (id, name, domain, company_id, main_score, _synced_at)
       VALUES (${id}, '${name}', ${text(more.domain ?? null)}, ${text(more.company ?? null)}, ${more.score ?? "NULL"}, ${at(1)})`,
    )
    .then(() =>
      more.insightHoursAgo === undefined
        ? undefined
        : database.run(
            `INSERT INTO main.account_insights (account_id, status, summary, _synced_at)
             VALUES (${id}, 'found', '{"of":${id}}', ${at(more.insightHoursAgo)})`,
          ),
    );
const aState = (stream: string, scope: string, checkedHoursAgo: number, walkedHoursAgo: number | null) =>
  database.run(
    `INSERT INTO sync.stream_state (stream, scope, status, checked_at, walked_at, run_id)
     VALUES ('${stream}', '${scope}', 'idle', ${at(checkedHoursAgo)}, ${walkedHoursAgo === null ? "NULL" : at(walkedHoursAgo)}, 'r')`,
  );
const aShape = (shape: Readonly<Record<string, unknown>>) =>
  database.run(
    `INSERT OR REPLACE INTO sync.capabilities VALUES ('shape.accounts', '${JSON.stringify(shape)}', ${at(1)})`,
  );
const anInput = (input: string, company: string | null, hoursAgo: number) =>
  database.run(
    `INSERT INTO main.company_inputs (input, company_id, status, resolved_at)
     VALUES ('${input}', ${text(company)}, 'x', ${at(hoursAgo)})`,
  );
const anEarlierLookup = (input: string, summary: Readonly<Record<string, unknown>>, hoursAgo: number) =>
  database.run(
    `INSERT INTO sync.runs (run_id, mode, status, started_at, finished_at, summary)
     VALUES ('l${hoursAgo}', 'lookup', 'done', ${at(hoursAgo)}, ${at(hoursAgo)},
       '${JSON.stringify({ kind: "account", input, ...summary })}')`,
  );

const ask = (kind: "company" | "account", input: string, maxAgeHours = 24) =>
  lookUpInMirror(database, { kind, input }, NOW - maxAgeHours * HOUR_MS);

describe("a company", () => {
  test.each([
    "c_1",
    "acme.example",
    "https://www.Acme.example/about?x=1",
    "acm",
    "https://network.example/company/acme/",
  ])("is found by id, domain, address, symbol and profile: %s", async (input) => {
    const network = "http://www.network.example/company/acme";
    await aCompany("c_1", { domain: "acme.example", symbol: "ACM", network });
    await aCompany("c_2", { domain: "other.example", symbol: "OTH" });
    expect(await ask("company", input)).toMatchObject({ status: "found", record: { id: "c_1", name: "Company c_1" } });
  });

  test.each(["www.Network.example/company/acme/", "https://network.example/company/acme?from=mail#top"])(
    "is found by its profile, however the service writes that: %s",
    async (network) => {
      await aCompany("c_1", { network });
      expect(await ask("company", "network.example/company/ACME")).toMatchObject({ record: { id: "c_1" } });
    },
  );

  test("is found by an input that the service resolved before", async () => {
    await aCompany("c_1");
    await anInput("Acme Inc", "c_1", 2);
    expect(await ask("company", "Acme Inc")).toMatchObject({ record: { id: "c_1" } });
  });

  test("an id counts before a domain, and a domain of two companies names none", async () => {
    await aCompany("acme.example");
    await aCompany("c_2", { domain: "acme.example" });
    expect(await ask("company", "acme.example")).toMatchObject({ record: { id: "acme.example" } });
    await aCompany("c_3", { domain: "shared.example" });
    await aCompany("c_4", { domain: "shared.example" });
    expect(await ask("company", "shared.example")).toBeNull();
  });

  test("is no answer once it is older than asked, unless a later check found it unchanged", async () => {
    await aCompany("c_1", { hoursAgo: 30 });
    expect(await ask("company", "c_1")).toBeNull();
    expect(await ask("company", "c_1", 31)).toMatchObject({ asOf: NOW - 30 * HOUR_MS });
    await aState("companies", "c_1", 3, null);
    expect(await ask("company", "c_1")).toMatchObject({ asOf: NOW - 3 * HOUR_MS });
  });

  test("that came along with its account is as fresh as the last walk of the accounts", async () => {
    await aCompany("c_1", { hoursAgo: 30 });
    await anAccount(1, "Acme", { company: "c_1" });
    await aState("accounts", "", 2, 3);
    expect(await ask("company", "c_1")).toMatchObject({ asOf: NOW - 3 * HOUR_MS });
    await aCompany("c_2", { hoursAgo: 30 });
    expect(await ask("company", "c_2")).toBeNull();
  });

  test.each([
    ["refuses include", { include: false, without: [], lacks: [] }],
    ["refuses companies in it", { include: true, without: ["company"], lacks: [] }],
    ["leaves companies out", { include: true, without: ["owner"], lacks: ["company"] }],
  ])("is no fresher than its own answer where the list of accounts %s", async (_, shape) => {
    await aCompany("c_1", { hoursAgo: 30 });
    await anAccount(1, "Acme", { company: "c_1" });
    await aState("accounts", "", 2, 3);
    await aShape({ include: true, without: ["owner"], lacks: [] });
    expect(await ask("company", "c_1")).toMatchObject({ asOf: NOW - 3 * HOUR_MS });
    await aShape(shape);
    expect(await ask("company", "c_1")).toBeNull();
  });

  test("comes with its latest earnings call, the analysis apart, and without the transcript", async () => {
    await aCompany("c_1");
    await aCall(1, "c_1", "2026-08-01");
    await aCall(2, "c_1", "2026-11-01");
    await aCall(3, "c_1", null);
    await aCall(4, "c_2", "2026-11-20");
    const found = await ask("company", "c_1");
    expect(found).toMatchObject({ latestEarningsCall: { id: 2 }, latestEarningsCallAnalysis: { mood: "calm" } });
    expect(found?.latestEarningsCall).not.toHaveProperty("fullTranscript");
    expect(found?.latestEarningsCall).not.toHaveProperty("generatedAnalysis");
  });

  test("that the service did not know lately is not asked for again, later it is", async () => {
    await anInput("nobody.example", null, 5);
    expect(await ask("company", "nobody.example")).toMatchObject({ status: "not_found", asOf: NOW - 5 * HOUR_MS });
    expect(await ask("company", "nobody.example", 4)).toBeNull();
    expect(await ask("company", "never-asked.example")).toBeNull();
  });
});

describe("an account", () => {
  test("that alone fits is answered with its insight, as the service returns it", async () => {
    await anAccount(1, "Acme", { domain: "acme.example", insightHoursAgo: 2 });
    await anAccount(2, "Bravo", { insightHoursAgo: 2 });
    for (const input of ["acm", "https://www.acme.example"]) {
      const found = await ask("account", input);
      expect(found).toMatchObject({ status: "found", asOf: NOW - 2 * HOUR_MS, record: { summary: { of: 1 } } });
      expect(found?.record).not.toHaveProperty("accountId");
    }
  });

  test("a domain counts before a name that contains it, and the nearest domain before its parent", async () => {
    await anAccount(1, "shop.acme.example", { insightHoursAgo: 1 });
    await anAccount(2, "Parent", { domain: "acme.example", insightHoursAgo: 1 });
    await anAccount(3, "Shop", { domain: "shop.acme.example", insightHoursAgo: 1 });
    expect(await ask("account", "shop.acme.example")).toMatchObject({ record: { summary: { of: 3 } } });
  });

  test("without an insight, or with one that is too old, is no answer", async () => {
    await anAccount(1, "Acme");
    await anAccount(2, "Bravo", { insightHoursAgo: 30 });
    expect(await ask("account", "Acme")).toBeNull();
    expect(await ask("account", "Bravo")).toBeNull();
    await aState("account_insights", "2", 3, null);
    expect(await ask("account", "Bravo")).toMatchObject({ asOf: NOW - 3 * HOUR_MS });
  });

  test("several that fit are candidates, the best first, if the whole list was read lately", async () => {
    await anAccount(1, "Acme East", { score: 10 });
    await anAccount(2, "Acme West", { score: 90, domain: "west.example" });
    expect(await ask("account", "acme")).toBeNull();
    await aState("accounts", "", 4, 100);
    expect(await ask("account", "acme")).toEqual({
      status: "multiple_matches",
      asOf: NOW - 4 * HOUR_MS,
      record: null,
      latestEarningsCall: null,
      latestEarningsCallAnalysis: null,
      candidates: [
        { accountId: 2, name: "Acme West", domain: "west.example" },
        { accountId: 1, name: "Acme East" },
      ],
      bestMatch: { accountId: 2, name: "Acme West", domain: "west.example" },
    });
    expect(await ask("account", "acme", 3)).toBeNull();
  });

  test("an earlier lookup of the same text that found none or several is repeated while it is fresh", async () => {
    await anEarlierLookup("ghost", { status: "not_found" }, 40);
    expect(await ask("account", "ghost")).toBeNull();
    await anEarlierLookup(
      "ghost",
      { status: "multiple_matches", candidates: [{ accountId: 5 }], best_match: { accountId: 5 } },
      2,
    );
    expect(await ask("account", "ghost")).toMatchObject({
      status: "multiple_matches",
      asOf: NOW - 2 * HOUR_MS,
      candidates: [{ accountId: 5 }],
      bestMatch: { accountId: 5 },
    });
    expect(await ask("account", "ghos")).toBeNull();
  });

  test("an earlier lookup that found one account is no answer: its insight would be in the mirror", async () => {
    await anEarlierLookup("ghost", { status: "found" }, 2);
    expect(await ask("account", "ghost")).toBeNull();
  });
});

describe("a 404 of the service", () => {
  const aRequest = (status: number, endpoint = "/v1/accounts") =>
    database.run(
      `INSERT INTO sync.requests (request_id, run_id, stream, scope, endpoint, url, status, charge, started_at, duration_ms, bytes, rows, attempt)
       VALUES ('q', 'r', 's', '', '${endpoint}', 'u', ${status}, 'x', ${at(1)}, 1, 1, 1, 1)`,
    );

  test("is believed once the service has answered this mirror, and not before", async () => {
    expect(await believes404(database)).toBe(false);
    await aRequest(404);
    expect(await believes404(database)).toBe(false);
    await database.run("DELETE FROM sync.requests");
    await aRequest(200);
    expect(await believes404(database)).toBe(true);
  });

  test("is asked about again where the question that shows the address is free", async () => {
    await aRequest(200);
    await anAccount(1, "Acme", { insightHoursAgo: 1 });
    expect(await believes404(database)).toBe(true);
    await database.run(`INSERT INTO sync.capabilities VALUES ('tier', '{"tier":"full"}', ${at(1)})`);
    expect(await believes404(database)).toBe(false);
  });
});
