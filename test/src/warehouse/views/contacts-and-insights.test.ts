import { expect, test } from "vitest";
import { aMart } from "./mart.ts";

// Ada is reported to have left; Bob's employer changed without a word; Cid's change was reported twice in two versions
// and he is gone now; Dan only got another title.
const MOVES = `
  INSERT INTO main.accounts (id, name) VALUES (1, 'Acme'), (2, ' globex ');
  INSERT INTO main.contacts (id, first_name, last_name, account_id, type, current_title, current_company_name, previous_title,
      previous_company_name, change_type, last_change_detected_on, email, position_when_former_user, intro_paths, _synced_at) VALUES
    ('ada', 'Ada', 'L', 1, 'champion', 'CTO', 'Globex', 'Dev', 'Acme', 'departure', '2025-02-01', 'ada@x.example', NULL, ['via Bo'], '2025-02-02'),
    ('bob', 'Bob', NULL, 1, 'prospect', 'Dev', 'Initech', NULL, NULL, NULL, NULL, NULL, '{"company":"Acme"}', NULL, '2025-03-01'),
    ('dan', NULL, NULL, 1, 'champion', 'Lead', 'Acme', NULL, NULL, NULL, NULL, NULL, '{}', NULL, '2025-03-05');
  INSERT INTO history.contacts (id, first_name, last_name, account_id, type, current_title, current_company_name, previous_title,
      previous_company_name, change_type, last_change_detected_on, valid_from, valid_to, change) VALUES
    ('ada', 'Ada', 'L', 1, 'champion', 'Dev', 'Acme', NULL, NULL, NULL, NULL, '2025-01-01', '2025-02-02', 'update'),
    ('bob', 'Bob', NULL, 1, 'prospect', 'Dev', 'Acme', NULL, NULL, NULL, NULL, '2025-01-01', '2025-03-01', 'update'),
    ('cid', 'Cid', 'M', 1, 'contact', NULL, NULL, 'Dev', NULL, 'newJoiner', '2025-01-10', '2025-01-10', '2025-01-11', 'update'),
    ('cid', 'Cid', 'M', 1, 'contact', 'VP', 'Acme', 'Dev', NULL, 'newJoiner', '2025-01-10', '2025-01-11', '2025-01-12', 'delete'),
    ('dan', NULL, NULL, 1, 'champion', 'Dev', 'Acme', NULL, NULL, NULL, NULL, '2025-01-01', '2025-03-05', 'update');`;

test("contact_moves shows what the service reports once, and what only the history knows", async () => {
  const mart = await aMart(MOVES);
  expect(
    await mart.rows(`SELECT contact_id, contact_name, account_name, evidence, change_type, from_company, from_title, to_company, to_title,
      changed_company, moved_on, still_listed FROM marts.contact_moves ORDER BY contact_id, moved_on, evidence`),
  ).toEqual([
    ["ada", "Ada L", "Acme", "reported", "departure", "Acme", "Dev", "Globex", "CTO", true, "2025-02-01T00:00", true],
    ["bob", "Bob", "Acme", "observed", null, "Acme", "Dev", "Initech", "Dev", true, "2025-03-01T00:00", true],
    ["cid", "Cid M", "Acme", "reported", "newJoiner", null, "Dev", "Acme", "VP", true, "2025-01-10T00:00", false],
    ["cid", "Cid M", "Acme", "observed", null, null, null, "Acme", "VP", false, "2025-01-11T00:00", false],
    ["dan", null, "Acme", "observed", null, "Acme", "Dev", "Acme", "Lead", false, "2025-03-05T00:00", true],
  ]);
});

test("champion_alerts names champions and former users who changed company, and the account they went to", async () => {
  const mart = await aMart(MOVES);
  expect(
    await mart.rows(`SELECT contact_id, alert, account_name, from_company, to_company, to_account_id, evidence, moved_on, email, intro_paths
      FROM marts.champion_alerts ORDER BY contact_id`),
  ).toEqual([
    ["ada", "champion", "Acme", "Acme", "Globex", 2, "reported", "2025-02-01T00:00", "ada@x.example", ["via Bo"]],
    ["bob", "former user", "Acme", "Acme", "Initech", null, "observed", "2025-03-01T00:00", null, null],
  ]);
});

const INSIGHTS = `
  INSERT INTO main.accounts (id, name, swot_analysis) VALUES
    (1, 'Acme', '{"strengths":["ignored: the insight has some"]}'),
    (2, 'Globex', '{"strengths":["own"],"threats":[{"x":1},null],"other":["no kind"],"weaknesses":"no list"}'), (3, 'Odd', '[1]');
  INSERT INTO main.account_insights (account_id, status, summary, research, swot_analysis, value) VALUES
    (1, 'found', '{"keyInsights":["one","two"],"executivePerspective":[{"quote":"We grow","attribution":"Ada"}],"topNews":[],"a.b\\"c/d~e":["odd name"],"empty":null}',
     '{"businessModel":{"revenue":"subscriptions","customers":["a","b"]},"companyOverview":"alone"}',
     '{"strengths":["strong"],"threats":["weak coffee","rain"]}', '{"threeWhys":{"whyNow":"budget","deep":{"x":1}},"mixed":[1,null,true]}'),
    (3, 'found', '["not an object"]', '"text"', 'null', NULL), (4, 'not_found', NULL, NULL, NULL, NULL);`;

test("insight_items turns every list into rows, opens objects one level and survives any other shape", async () => {
  const mart = await aMart(INSIGHTS);
  expect(
    await mart.rows(
      "SELECT account_id, section, field, position, text, attribution FROM marts.insight_items ORDER BY section, field, position",
    ),
  ).toEqual([
    [1, "research", "businessModel.customers", 1, "a", null],
    [1, "research", "businessModel.customers", 2, "b", null],
    [1, "research", "businessModel.revenue", 1, "subscriptions", null],
    [1, "research", "companyOverview", 1, "alone", null],
    [1, "summary", 'a.b"c/d~e', 1, "odd name", null],
    [1, "summary", "executivePerspective", 1, "We grow", "Ada"],
    [1, "summary", "keyInsights", 1, "one", null],
    [1, "summary", "keyInsights", 2, "two", null],
    [1, "swotAnalysis", "strengths", 1, "strong", null],
    [1, "swotAnalysis", "threats", 1, "weak coffee", null],
    [1, "swotAnalysis", "threats", 2, "rain", null],
    [1, "value", "mixed", 1, "1", null],
    [1, "value", "mixed", 3, "true", null],
    [1, "value", "threeWhys.deep", 1, '{"x":1}', null],
    [1, "value", "threeWhys.whyNow", 1, "budget", null],
  ]);
});

test("swot_items prefers the insight and falls back to the account's own analysis", async () => {
  const mart = await aMart(INSIGHTS);
  expect(await mart.rows("SELECT * FROM marts.swot_items ORDER BY account_id, kind, position")).toEqual([
    [1, "Acme", "strength", 1, "strong", "insight"],
    [1, "Acme", "threat", 1, "weak coffee", "insight"],
    [1, "Acme", "threat", 2, "rain", "insight"],
    [2, "Globex", "strength", 1, "own", "account"],
    [2, "Globex", "threat", 1, '{"x":1}', "account"],
  ]);
});
