// The settings `budgets` and `scope`, from the file and from the environment.
import { expect, test } from "vitest";
import { configOf } from "../../../../support/given-config.ts";

test("budgets: streams and kinds of work, in credits, shares and durations, from file and environment alike", () => {
  const yaml = `budgets:
  account_insights: {per_day: 50, min_interval: 7d}
  walks: {per_period: 12.5%}
  verify: {per_day: 0}
`;
  const text =
    "account_insights.per_day=50, account_insights.min_interval=7d, walks.per_period=12.5%, verify.per_day=0";
  const expected = {
    account_insights: { perDay: { credits: 50 }, perPeriod: null, minIntervalMs: 604_800_000 },
    walks: { perDay: null, perPeriod: { share: 0.125 }, minIntervalMs: 0 },
    verify: { perDay: { credits: 0 }, perPeriod: null, minIntervalMs: 0 },
  };
  const given = [configOf(yaml), configOf(null, { DUCKMIRROR_BUDGETS: text }), configOf(null)];
  expect(given.map(({ budgets }) => budgets)).toEqual([expected, expected, {}]);
});

test("scope: every part, from the file and as JSON from the environment", () => {
  const yaml = `scope:
  accounts: {type: [prospect, customer], priority: 1, owner_id: u_1, ids: [3, 1], text: acme, signals_of_type: podcast, signals_after: 2026-01-31}
  signals: {type: "funding-alert, podcast", since: 2026-01-01T12:00:00+02:00}
  contacts: {type: champion, change_type: [promotion]}
  companies: {accounts_only: true}
  content: {signals.fullContent: {type: podcast, accounts: [7], since: 2026-06-01}}
`;
  const expected = {
    accounts: {
      type: ["customer", "prospect"],
      priority: ["1"],
      owner_id: ["u_1"],
      ids: ["1", "3"],
      text: "acme",
      signals_of_type: ["podcast"],
      signals_after: "2026-01-31T00:00:00.000Z",
    },
    signals: { type: ["funding-alert", "podcast"], since: "2026-01-01T10:00:00.000Z" },
    contacts: { type: ["champion"], change_type: ["promotion"] },
    companies: { accounts_only: true },
    content: { "signals.fullContent": { type: ["podcast"], accounts: ["7"], since: "2026-06-01T00:00:00.000Z" } },
  };
  const given = [configOf(yaml), configOf(null, { DUCKMIRROR_SCOPE: JSON.stringify(expected) }), configOf(null)];
  expect(given.map(({ rowScope }) => rowScope)).toEqual([expected, expected, {}]);
});

test.each([
  ["budgets: {signal: {per_day: 5}}", '"signal" is neither a stream nor one of looks, walks, content, verify'],
  ["budgets: {signal: {per_day: 5}}", "Did you mean signals?"],
  ["budgets: {owners: {per_day: 5}}", '"owners" is neither a stream'],
  ["budgets: {signals: {per_dya: 5}}", "signals.per_dya is not one of per_day, per_period, min_interval"],
  ["budgets: {signals: {per_day: much}}", 'signals.per_day: "much" is neither a number of credits nor a share'],
  ["budgets: {signals: {per_day: -5}}", "signals.per_day"],
  ["budgets: {signals: {per_day: 120%}}", "signals.per_day"],
  ["budgets: {signals: {min_interval: often}}", "signals.min_interval"],
  ["budgets: {verify: {min_interval: 1d}}", "verify has no min_interval"],
  ["budgets: {signals: 5}", "budgets ("],
  ["budgets: [signals]", "budgets ("],
  ["scope: {accounts: {type: custmer}}", 'accounts.type: "custmer" is not one of prospect, customer'],
  ["scope: {accounts: {priority: 4}}", "accounts.priority"],
  ["scope: {accounts: {ids: [acme]}}", 'accounts.ids: "acme" is not an account id'],
  ["scope: {accounts: {signals_of_type: podcast}}", "signals_of_type and signals_after apply together"],
  ["scope: {account: {type: customer}}", "account"],
  ["scope: {signals: {since: soon}}", 'signals.since: "soon" is not a date'],
  ["scope: {contacts: {change_type: left}}", "contacts.change_type"],
  ["scope: {companies: {accounts_only: perhaps}}", "companies.accounts_only"],
  ["scope: {content: {news_articles.articleBody: {type: x}}}", "other content comes with its list"],
  ["scope: customers", "scope ("],
])("%s is refused with its name", (yaml, message) => {
  expect(() => configOf(yaml)).toThrow(message);
});

test("a part of a budget that is missing is named in the environment, too", () => {
  expect(() => configOf(null, { DUCKMIRROR_BUDGETS: "signals=5" })).toThrow("signals. is not one of per_day");
});
