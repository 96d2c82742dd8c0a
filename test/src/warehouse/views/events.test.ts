import { expect, test } from "vitest";
import { DATE_ONLY, snakeCase } from "../../../../src/catalog/fields.ts";
import { aMart } from "./mart.ts";

const SIGNALS = `
  INSERT INTO main.accounts (id, name, domain, type, priority, main_score, owner_id, company_id) VALUES
    (1, 'Acme', 'acme.example', 'customer', 1, 70, 'o1', 'c1');
  INSERT INTO main.signals (id, account_id, type, subtype, headline, description, date, sources, created_at, updated_at, _first_synced_at) VALUES
    (1, 1, 'funding-alert', 'round', 'Acme raises $58 million in Series C led by Fund', NULL, '2025-03-01 23:30:00Z', ['https://a.example/1', 'https://b.example'], '2025-03-02 04:30:00Z', '2025-03-02 04:30:00Z', '2025-03-03 00:00:00Z'),
    (2, 1, 'funding-alert', NULL, 'Acme finds new investors', 'A seed round of €1.2m.', '2025-03-01 01:00:00Z', NULL, '2025-03-01 02:00:00Z', '2025-03-01 02:00:00Z', '2025-03-03 00:00:00Z'),
    (3, 9, 'podcast', NULL, 'A talk', NULL, '2025-03-02 00:00:00Z', [], '2025-03-02 00:00:00Z', '2025-03-02 00:00:00Z', '2025-03-03 00:00:00Z');`;

test("signal_timeline puts the account beside each signal and keeps signals of unknown accounts", async () => {
  const mart = await aMart(SIGNALS);
  expect(
    await mart.rows(`SELECT signal_id, date, day, type, subtype, account_name, account_type, account_priority, account_score,
      owner_id, company_id, source_url, hours_to_detect FROM marts.signal_timeline ORDER BY signal_id`),
  ).toEqual([
    [
      1,
      "2025-03-01T23:30",
      "2025-03-01",
      "funding-alert",
      "round",
      "Acme",
      "customer",
      1,
      70,
      "o1",
      "c1",
      "https://a.example/1",
      5,
    ],
    [2, "2025-03-01T01:00", "2025-03-01", "funding-alert", null, "Acme", "customer", 1, 70, "o1", "c1", null, 1],
    [3, "2025-03-02T00:00", "2025-03-02", "podcast", null, null, null, null, null, null, null, null, 0],
  ]);
});

test("signals_daily counts by UTC day, account and type", async () => {
  const mart = await aMart(SIGNALS);
  expect(await mart.rows("SELECT * FROM marts.signals_daily ORDER BY day, account_id, type")).toEqual([
    ["2025-03-01", 1, "Acme", "funding-alert", 2, "2025-03-01T01:00", "2025-03-01T23:30"],
    ["2025-03-02", 9, null, "podcast", 1, "2025-03-02T00:00", "2025-03-02T00:00"],
  ]);
});

test("funding_events reads round and amount where the text names them, and says nothing where it does not", async () => {
  const mart = await aMart(`${SIGNALS}
    INSERT INTO main.signals (id, account_id, type, headline, date) VALUES
      (4, 1, 'funding-alert', 'Acme is funded', '2025-01-01'),
      (5, 1, 'funding-alert', 'Acme takes US$1,250,000', '2025-01-01'),
      (6, 1, 'funding-alert', 'Acme takes €1.200.000', '2025-01-01'),
      (7, 1, 'funding-alert', 'Acme takes £99999999999999 billion', '2025-01-01');`);
  expect(
    await mart.rows(
      "SELECT signal_id, account_name, round_text, amount_text, amount, currency FROM marts.funding_events ORDER BY 1",
    ),
  ).toEqual([
    [1, "Acme", "Series C", "$58 million", 58_000_000, "USD"],
    [2, "Acme", "seed", "€1.2m", 1_200_000, "EUR"],
    [4, "Acme", null, null, null, null],
    [5, "Acme", null, "US$1,250,000", 1_250_000, "USD"],
    [6, "Acme", null, "€1.200.000", null, "EUR"],
    [7, "Acme", null, "£99999999999999 billion", null, "GBP"],
  ]);
});

test("hiring_trend counts postings by month, with those that closed and those that vanished", async () => {
  const mart = await aMart(`
    INSERT INTO main.companies (id, name) VALUES ('c1', 'Acme');
    INSERT INTO main.accounts (id, company_id) VALUES (7, 'c1'), (3, 'c1');
    INSERT INTO main.job_openings (company_id, id, status, posted_on) VALUES
      ('c1', 'a', 'open', '2025-01-31 23:00:00Z'), ('c1', 'b', 'CLOSED', '2025-02-01 00:00:00Z'), ('c1', 'd', 'weird', '2025-02-10'),
      ('c1', 'e', 'open', '2025-05-01'), ('c2', 'a', 'open', '2025-01-01'), ('c2', 'n', 'open', NULL);
    INSERT INTO history.job_openings (company_id, id, status, posted_on, valid_to, change) VALUES
      ('c1', 'c', 'open', '2025-02-03', '2025-03-01', 'update'), ('c1', 'c', 'open', '2025-02-04', '2025-03-02', 'delete'),
      ('c1', 'a', 'new', '2025-01-31', '2025-03-02', 'update');`);
  expect(await mart.rows("SELECT * FROM marts.hiring_trend ORDER BY company_id, month")).toEqual([
    ["c1", "Acme", 3, "2025-01-01", 1, 0, 1, 1, 0, 0],
    ["c1", "Acme", 3, "2025-02-01", 3, 1, 2, 1, 2, 1],
    ["c1", "Acme", 3, "2025-05-01", 1, 0, 1, 1, 0, 0],
    ["c2", null, null, "2025-01-01", 1, 0, 1, 1, 0, 0],
  ]);
});

test("earnings_calendar knows the call before, the latest one and when to expect the next", async () => {
  const mart = await aMart(`
    INSERT INTO main.companies (id, name, main_stock_symbol) VALUES ('c1', 'Acme', 'ACM');
    INSERT INTO main.accounts (id, company_id) VALUES (3, 'c1');
    INSERT INTO main.earnings_calls (company_id, id, stock_symbol, year, quarter, happened_at, full_transcript) VALUES
      ('c1', 5, NULL, 2024, 4, '2025-02-01 15:00:00Z', 'text'), ('c1', 6, 'ACME', 2024, 3, '2024-11-01 15:00:00Z', NULL), ('c1', 7, NULL, NULL, NULL, NULL, NULL),
      ('c2', 1, NULL, 2099, 1, '2099-01-01 00:00:00Z', NULL);`);
  expect(
    await mart.rows(`SELECT company_id, earnings_call_id, company_name, stock_symbol, account_id, happened_at, is_upcoming, is_latest,
      previous_call_at, next_expected_on, has_transcript FROM marts.earnings_calendar ORDER BY company_id, happened_at NULLS FIRST`),
  ).toEqual([
    ["c1", 7, "Acme", "ACM", 3, null, false, false, null, null, false],
    ["c1", 6, "Acme", "ACME", 3, "2024-11-01T15:00", false, false, null, null, false],
    ["c1", 5, "Acme", "ACM", 3, "2025-02-01T15:00", false, true, "2024-11-01T15:00", "2025-05-03", true],
    ["c2", 1, null, null, null, "2099-01-01T00:00", true, true, null, "2099-04-02", false],
  ]);
});

test("filing_timeline shows how long after the period a company filed", async () => {
  const mart = await aMart(`
    INSERT INTO main.companies (id, name) VALUES ('c1', 'Acme');
    INSERT INTO main.accounts (id, company_id) VALUES (3, 'c1');
    INSERT INTO main.filings (company_id, id, type, filing_date, report_date, fiscal_year, quarter, full_content) VALUES
      ('c1', 1, '10-Q', '2025-05-10', '2025-03-31', 2025, 1, 'text'), ('c2', 1, '8-K', NULL, NULL, NULL, NULL, NULL);`);
  expect(
    await mart.rows(`SELECT company_id, filing_id, company_name, account_id, type, day, days_to_file, has_content
      FROM marts.filing_timeline ORDER BY company_id`),
  ).toEqual([
    ["c1", 1, "Acme", 3, "10-Q", "2025-05-10", 40, true],
    ["c2", 1, null, null, "8-K", null, null, false],
  ]);
});

test("dates without a time are the service's own day, also for a reader west of Greenwich", async () => {
  const mart = await aMart(`
    INSERT INTO main.contacts (id, change_type, in_current_role_since, _synced_at) VALUES (1, 'newJoiner', '2025-03-01', '2025-04-01');
    INSERT INTO main.job_openings (company_id, id, posted_on) VALUES ('c1', 1, '2025-03-01 00:00:00+00');
    INSERT INTO main.filings (company_id, id, filing_date, report_date) VALUES ('c1', 1, '2025-03-01', '2024-12-31');
    INSERT INTO main.signals (id, clinical_trial_study_completion_date) VALUES (1, '2026-01-01');`);
  const [row] = await mart.rows(
    `SELECT CAST(posted_on::date AS VARCHAR), CAST(posted_month AS VARCHAR),
      (SELECT CAST(in_current_role_since::date AS VARCHAR) FROM marts.contact_moves),
      (SELECT CAST(filing_date::date AS VARCHAR) || ' ' || CAST(report_date::date AS VARCHAR) FROM marts.filing_timeline),
      (SELECT CAST(clinical_trial_study_completion_date::date AS VARCHAR) FROM marts.signal_timeline)
    FROM marts.job_timeline`,
    "America/New_York",
  );
  expect(row).toEqual(["2025-03-01", "2025-03-01", "2025-03-01", "2025-03-01 2024-12-31", "2026-01-01"]);
});

test("no view of the marts hands on a date-only field as a moment", async () => {
  const mart = await aMart("SELECT 1");
  const dateOnly = DATE_ONLY.map((name) => `'${snakeCase(name)}'`).join(", ");
  expect(
    await mart.rows(`SELECT table_name, column_name, data_type FROM duckdb_columns()
      WHERE schema_name = 'marts' AND column_name IN (${dateOnly}) AND data_type <> 'DATE'`),
  ).toEqual([]);
});
