import { expect, test } from "vitest";
import { aMart } from "./mart.ts";

const SCORES = `
  INSERT INTO history.accounts (id, name, main_score, valid_from, valid_to, change) VALUES
    (1, 'Acme', 10, '2025-01-01 00:00:00Z', '2025-01-05 00:00:00Z', 'update'),
    (1, 'Acme', 10, '2025-01-05 00:00:00Z', '2025-01-09 00:00:00Z', 'update'),
    (1, 'Acme Corp', 40, '2025-01-09 00:00:00Z', '2025-02-01 00:00:00Z', 'update'),
    (2, 'Gone', 5, '2025-01-01 00:00:00Z', '2025-01-03 00:00:00Z', 'delete'),
    (3, 'Back', 7, '2025-01-01 00:00:00Z', '2025-01-03 00:00:00Z', 'delete');
  INSERT INTO main.accounts (id, name, main_score, _synced_at) VALUES
    (1, 'Acme Corp', 35.5, '2025-02-01 00:00:00Z'), (3, 'Back', 7, '2025-01-08 00:00:00Z');`;

test("score_history joins versions of one score, and distinguishes an account that came back from one that stayed", async () => {
  const mart = await aMart(SCORES);
  expect(
    await mart.rows(`SELECT account_id, account_name, main_score, previous_score, score_change, valid_from, valid_to, is_current
      FROM marts.score_history ORDER BY account_id, valid_from`),
  ).toEqual([
    [1, "Acme", 10, null, null, "2025-01-01T00:00", "2025-01-09T00:00", false],
    [1, "Acme Corp", 40, 10, 30, "2025-01-09T00:00", "2025-02-01T00:00", false],
    [1, "Acme Corp", 35.5, 40, -4.5, "2025-02-01T00:00", null, true],
    [2, "Gone", 5, null, null, "2025-01-01T00:00", "2025-01-03T00:00", false],
    [3, "Back", 7, null, null, "2025-01-01T00:00", "2025-01-03T00:00", false],
    [3, "Back", 7, 7, 0, "2025-01-08T00:00", null, true],
  ]);
});

test("score_history says what a score was made of before and after it moved, and differences have no tail of digits", async () => {
  const mart = await aMart(`
    INSERT INTO history.accounts (id, name, main_score, main_score_components, valid_from, valid_to, change) VALUES
      (1, 'Acme', 70.7, '{"hiring":40}', '2025-01-01 00:00:00Z', '2025-01-05 00:00:00Z', 'update'),
      (1, 'Acme', 70.7, '{"hiring":41}', '2025-01-05 00:00:00Z', '2025-01-09 00:00:00Z', 'update');
    INSERT INTO main.accounts (id, name, main_score, main_score_components, _synced_at) VALUES
      (1, 'Acme', 47.1, '{"hiring":18}', '2025-01-09 00:00:00Z');`);
  expect(
    await mart.rows(
      "SELECT score_change, previous_components, score_components FROM marts.score_history WHERE is_current",
    ),
  ).toEqual([[-23.6, '{"hiring":41}', '{"hiring":18}']]);
});

test("owner_accounts has a row per owner, with the accounts, their scores and their signals", async () => {
  const mart = await aMart(`
    INSERT INTO main.owners (id, data) VALUES ('o1', '{"name":"Ada"}'), ('o2', '{"name":"Idle"}');
    INSERT INTO main.accounts (id, name, type, owner_id, main_score, _synced_at) VALUES
      (1, 'Acme', 'customer', 'o1', 60, now()), (2, 'Beta', 'prospect', 'o1', 40.005, now()),
      (3, 'Gamma', 'prospect', 'o1', NULL, now()), (4, 'Nobody''s', 'customer', NULL, 9, now());
    INSERT INTO main.signals (id, account_id, type, headline, date) VALUES
      (1, 1, 'podcast', 'Talk', now() - INTERVAL 2 DAY), (2, 2, 'podcast', 'Old talk', now() - INTERVAL 90 DAY);`);
  expect(
    await mart.rows(`SELECT owner_id, owner, accounts, customers, prospects, average_score, accounts_without_score, signals_30_days
      FROM marts.owner_accounts`),
  ).toEqual([["o1", '{"name":"Ada"}', 3, 1, 2, 50, 1, 1]]);
});

test("account_360 gathers company, owner, score, jobs, signals, contacts and the last call in one row per account", async () => {
  const mart = await aMart(`
    INSERT INTO main.companies (id, name, main_stock_symbol, industry, number_of_employees) VALUES ('c1', 'Acme Inc', 'ACM', 'Tools', 90);
    INSERT INTO main.owners (id, data) VALUES ('o1', '{"name":"Ada"}');
    INSERT INTO main.accounts (id, name, company_id, owner_id, main_score, _synced_at) VALUES
      (1, 'Acme', 'c1', 'o1', 60, now() - INTERVAL 10 DAY), (2, 'Lonely', NULL, NULL, NULL, now());
    INSERT INTO history.accounts (id, name, main_score, valid_from, valid_to, change) VALUES
      (1, 'Acme', 40, now() - INTERVAL 90 DAY, now() - INTERVAL 10 DAY, 'update');
    INSERT INTO main.job_openings (company_id, id, status, posted_on) VALUES
      ('c1', 'a', 'open', '2025-01-02'), ('c1', 'b', NULL, '2025-02-02'), ('c1', 'c', 'Closed', '2025-02-03');
    INSERT INTO main.signals (id, account_id, type, headline, date) VALUES
      (1, 1, 'podcast', 'Old talk', '2024-03-01 10:00:00Z'), (2, 1, 'podcast', 'New talk', '2024-05-01 10:00:00Z'),
      (3, 1, 'funding-alert', 'Money', now() - INTERVAL 2 DAY), (4, 99, 'podcast', 'Of nobody', now()),
      (5, 2, NULL, 'Of no type', NULL);
    INSERT INTO main.contacts (id, account_id, type, contact_role) VALUES
      ('x', 1, 'champion', 'Buyer'), ('y', 1, 'prospect', 'Buyer'), ('z', 1, NULL, NULL);
    INSERT INTO main.earnings_calls (company_id, id, year, quarter, happened_at) VALUES
      ('c1', 1, 2024, 3, '2024-11-01'), ('c1', 2, 2024, 4, '2025-02-01'), ('c1', 3, 2099, 1, '2099-05-01');`);
  expect(
    await mart.rows(`SELECT account_id, company_name, stock_symbol, industry, number_of_employees, owner, main_score,
      previous_score, score_change, score_30_days_ago, score_change_30_days, open_jobs, signals, signals_30_days,
      last_signal_type, last_signal_headline, contacts, champions, contacts_by_role, last_earnings_call_at,
      last_earnings_call_year, last_earnings_call_quarter FROM marts.account_360 ORDER BY account_id`),
  ).toEqual([
    [
      1,
      "Acme Inc",
      "ACM",
      "Tools",
      90,
      '{"name":"Ada"}',
      60,
      40,
      20,
      40,
      20,
      2,
      3,
      1,
      "funding-alert",
      "Money",
      3,
      1,
    ].concat(['{"Buyer":2,"unknown":1}', "2025-02-01T00:00", 2024, 4]),
    [
      2,
      null,
      null,
      null,
      null,
      null,
      null,
      null,
      null,
      null,
      null,
      null,
      1,
      0,
      null,
      null,
      0,
      0,
      null,
      null,
      null,
      null,
    ],
  ]);
  const [[byType] = []] = await mart.rows(
    "SELECT last_signals_by_type->'podcast' FROM marts.account_360 WHERE account_id = 1",
  );
  expect(byType).toBe('{"date":"2024-05-01T10:00:00Z","headline":"New talk","signals":2}');
});
