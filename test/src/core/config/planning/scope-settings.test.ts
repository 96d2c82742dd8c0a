// The setting `scope`, from the file and from the environment.
import { expect, test } from "vitest";
import { configOf } from "../../../../support/given-config.ts";

const given = ({ yaml, env }: { yaml?: string; env?: Record<string, string> }) => configOf(yaml ?? null, env).rowScope;

test("every part, from the file and as JSON from the environment", () => {
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
  expect(given({ yaml })).toEqual(expected);
  expect(given({ env: { DUCKMIRROR_SCOPE: JSON.stringify(expected) } })).toEqual(expected);
  expect(given({})).toEqual({});
});

test.each([
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
  expect(() => given({ yaml })).toThrow(message);
});
