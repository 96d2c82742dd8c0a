import { expect, test } from "vitest";
import { streamOfTable } from "../../../../src/catalog/dictionary.ts";
import { TABLE_NAMES, tableSpec } from "../../../../src/catalog/tables.ts";
import { aMart } from "./mart.ts";

const request = (
  id: string,
  at: string,
  charge: string,
  more: { endpoint?: string; status?: string; ms?: number } = {},
) =>
  `('${id}', 'r', 'signals', '', '${more.endpoint ?? "listSignals"}', '/v1', ${more.status ?? "200"}, '${charge}', NULL, '${at}', ${more.ms ?? 10}, 100, 20, 1, NULL, NULL, NULL, 'look')`;

test("credit_burn follows spending and quota by day and forecasts to the reset, within one period", async () => {
  const mart = await aMart(`
    INSERT INTO sync.requests VALUES ${[
      request("a", "2025-01-09 23:59:00Z", "spent"),
      request("b", "2025-01-10 00:01:00Z", "spent"),
      request("c", "2025-01-10 00:02:00Z", "ambiguous", { status: "NULL" }),
      request("d", "2025-01-10 00:03:00Z", "free", { status: "404" }),
    ].join(", ")};
    INSERT INTO main.usage_snapshots (captured_at, "limit", used, remaining, resets_at) VALUES
      ('2025-01-10 06:00:00Z', 100, 40, 60, '2025-01-14 00:00:00Z'), ('2025-01-10 12:00:00Z', 100, 50, 50, '2025-01-14 00:00:00Z'),
      ('2025-01-11 00:00:00Z', 100, 70, 30, '2025-01-14 00:00:00Z'), ('2025-01-15 00:00:00Z', 100, 3, 97, '2025-02-14 00:00:00Z'),
      ('2025-01-16 00:00:00Z', NULL, NULL, NULL, NULL);`);
  expect(
    await mart.rows(`SELECT day, requests, spent_here, ambiguous_here, org_spent, used, remaining, spent_per_day, days_to_reset,
      forecast_spend, forecast_remaining, forecast_empty_on FROM marts.credit_burn ORDER BY day`),
  ).toEqual([
    ["2025-01-09", 1, 1, 0, null, null, null, null, null, null, null, null],
    ["2025-01-10", 3, 1, 1, 10, 50, 50, 10, 3.5, 35, 15, null],
    ["2025-01-11", 0, 0, 0, 20, 70, 30, 15, 3, 45, -15, "2025-01-13"],
    ["2025-01-15", 0, 0, 0, 3, 3, 97, 3, 30, 90, 7, null],
  ]);
});

test("usage_by_endpoint puts the mirror's ledger beside the last breakdown of the service", async () => {
  const mart = await aMart(`
    INSERT INTO sync.requests VALUES ${[
      request("a", "2025-01-09", "spent", { ms: 10 }),
      request("b", "2025-01-10", "free", { status: "500", ms: 30 }),
      request("c", "2025-01-11", "ambiguous", { endpoint: "listAccounts", status: "NULL" }),
    ].join(", ")};
    INSERT INTO main.usage_breakdown (captured_at, group_by, key, requests, successful, failed) VALUES
      ('2025-01-01', 'endpoint', 'old', 1, 1, 0), ('2025-01-02', 'endpoint', '/v1/signals', 9, 8, 1), ('2025-01-03', 'day', '2025-01-03', 5, 5, 0);`);
  expect(await mart.rows("SELECT * FROM marts.usage_by_endpoint ORDER BY source, endpoint")).toEqual([
    ["mirror", "listAccounts", 1, 0, 1, 0, 1, 20, 100, null, 10, 10, "2025-01-11T00:00", "2025-01-11T00:00"],
    ["mirror", "listSignals", 2, 1, 1, 1, 0, 40, 200, 40, 20, 29, "2025-01-09T00:00", "2025-01-10T00:00"],
    ["service", "/v1/signals", 9, 8, 1, 8, null, null, null, null, null, null, null, "2025-01-02T00:00"],
  ]);
});

test("usage_by_key charges each API key with its credits, by day and endpoint", async () => {
  const mart = await aMart(`
    INSERT INTO main.usage_requests (id, occurred_at, endpoint, successful, api_key_id) VALUES
      (1, '2025-01-01 10:00:00Z', 'GET /v1/signals', true, 'key_a'), (2, '2025-01-01 23:59:59Z', 'GET /v1/signals', false, 'key_a'),
      (3, '2025-01-01 12:00:00Z', 'GET /v1/signals', true, 'key_b'), (4, '2025-01-01 13:00:00Z', 'GET /v1/usage', true, 'key_b'),
      (5, '2025-01-01 14:00:00Z', 'GET /v1/usage', true, 'key_b'), (6, '2025-01-02 00:00:00Z', 'GET /v1/signals', false, NULL);`);
  expect(
    await mart.rows(
      `SELECT api_key_id, day, endpoint, requests, credits, failed, share_of_day FROM marts.usage_by_key ORDER BY ALL`,
    ),
  ).toEqual([
    ["key_a", "2025-01-01", "GET /v1/signals", 2, 1, 1, 0.25],
    ["key_b", "2025-01-01", "GET /v1/signals", 1, 1, 0, 0.25],
    ["key_b", "2025-01-01", "GET /v1/usage", 2, 2, 0, 0.5],
    ["unknown", "2025-01-02", "GET /v1/signals", 1, 0, 1, null],
  ]);
});

test("freshness has a row per table, with the checks of the stream that fills it", async () => {
  const mart = await aMart(`
    INSERT INTO main.accounts (id, company_id, _synced_at) VALUES (1, 'c1', '2025-01-01'), (2, 'c2', '2025-01-02');
    INSERT INTO sync.stream_state (stream, scope, status, checked_at, walked_at, error, run_id) VALUES
      ('accounts', '', 'idle', now() - INTERVAL 3 HOUR, '2025-01-01', NULL, 'r'),
      ('filings', 'c1', 'failed', '2025-01-03', NULL, 'broken', 'r'), ('filings', 'c2', 'idle', NULL, NULL, NULL, 'r');`);
  expect(
    await mart.rows(`SELECT table_name, stream, row_count, last_change_at, hours_behind, scopes, unchecked_scopes, failed_scopes, error
      FROM marts.freshness WHERE table_name IN ('accounts', 'owners', 'contacts') ORDER BY table_name`),
  ).toEqual([
    ["accounts", "accounts", 2, "2025-01-02T00:00", 3, 1, 0, 0, null],
    ["contacts", "contacts", 0, null, null, 0, 0, 0, null],
    ["owners", "accounts", 0, null, 3, 1, 0, 0, null],
  ]);
  expect(
    await mart.rows(
      "SELECT scopes, unchecked_scopes, failed_scopes, error FROM marts.freshness WHERE table_name = 'filings'",
    ),
  ).toEqual([[2, 1, 1, "broken"]]);
  const tables = await mart.rows("SELECT table_name, stream FROM marts.freshness");
  expect(tables).toEqual(TABLE_NAMES.map((name) => [name, streamOfTable(name)]));
});

test("data_quality names rejected records, drift and missing values", async () => {
  const mart = await aMart(`
    INSERT INTO main.owners (id, data) VALUES ('o1', '{}'), ('o2', NULL);
    INSERT INTO main.signals (id, account_id, headline) VALUES (1, NULL, 'x');
    INSERT INTO sync.rejects VALUES ('2025-01-01', 'r', 'q', 'signals', 'signals', 0, 'no id', '{}'), ('2025-01-02', 'r', 'q', 'signals', 'signals', 1, 'no id', '{}');
    INSERT INTO sync.schema_drift VALUES ('contacts', 'mood', 'unknown_field', 'string', 7, '2025-01-01', '2025-01-05', 'r');`);
  expect(
    await mart.rows(`SELECT table_name, check_name, field, detail, affected, row_count, share, last_seen_at FROM marts.data_quality
      WHERE table_name <> 'signals' OR field IN ('account_id', 'subtype') OR field IS NULL ORDER BY table_name, check_name, field`),
  ).toEqual([
    ["contacts", "unknown_field", "mood", "string", 7, null, null, "2025-01-05T00:00"],
    ["owners", "missing_optional", "data", null, 1, 2, 0.5, null],
    ["signals", "missing_optional", "subtype", null, 1, 1, 1, null],
    ["signals", "missing_required", "account_id", null, 1, 1, 1, null],
    ["signals", "rejected", null, "no id", 2, null, null, "2025-01-02T00:00"],
  ]);
});

test("data_quality counts every field of the catalog, required as the catalog says", async () => {
  const mart = await aMart("");
  for (const name of TABLE_NAMES) {
    const [key = ""] = tableSpec(name).key;
    const literal =
      tableSpec(name).fields.find((field) => field.column === key)?.columnType === "TIMESTAMPTZ" ? "now()" : "1";
    const keys = tableSpec(name)
      .key.slice(1)
      .map((column) => `"${column}"`);
    await mart.database.run(
      `INSERT INTO main.${name} (${[`"${key}"`, ...keys].join(", ")}) VALUES (${[literal, ...keys.map(() => "1")].join(", ")})`,
    );
    const expected = tableSpec(name)
      .fields.filter(({ column }) => !tableSpec(name).key.includes(column))
      .map(({ column, required }) => [column, required ? "missing_required" : "missing_optional"]);
    const found = await mart.rows(`SELECT field, check_name FROM marts.data_quality WHERE table_name = '${name}'`);
    expect([...found].sort()).toEqual([...expected].sort());
  }
});
