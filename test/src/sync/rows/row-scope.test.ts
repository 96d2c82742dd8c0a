// What the setting `scope` asks the service for, and which rows are certainly outside: of records and of SQL alike.
import { expect, test } from "vitest";
import { STREAM_NAMES } from "../../../../src/catalog/streams.ts";
import { SCOPED_TABLES } from "../../../../src/catalog/tables.ts";
import type { RowScope } from "../../../../src/core/config/planning/scope-settings.ts";
import {
  contentIds,
  filtersOf,
  idsInScope,
  isOutside,
  isScoped,
  outsideOf,
} from "../../../../src/sync/rows/row-scope.ts";

const DAY = 86_400_000;

test("each setting becomes the filter of its list, and other lists are read whole", () => {
  const scope: RowScope = {
    accounts: {
      type: ["customer", "prospect"],
      priority: ["1"],
      owner_id: ["u_1"],
      ids: ["7", "8"],
      text: "acme",
      signals_of_type: ["podcast", "filing-alert"],
      signals_after: "2026-01-31T00:00:00.000Z",
    },
    contacts: { type: ["champion"], change_type: ["departure"] },
    signals: { type: ["podcast"], since: "2026-02-01T00:00:00.000Z" },
  };
  expect(filtersOf(scope, "accounts")).toEqual({
    type: "customer,prospect",
    priority: "1",
    ownerId: "u_1",
    ids: "7,8",
    textQuery: "acme",
    hasSignalsOfType: "podcast,filing-alert",
    hasSignalsAfterDate: "2026-01-31",
  });
  expect(filtersOf(scope, "contacts")).toEqual({ type: "champion", changeType: "departure" });
  expect(filtersOf(scope, "signals")).toEqual({ type: "podcast", afterDate: "2026-02-01" });
  expect(STREAM_NAMES.filter((name) => isScoped(scope, name))).toEqual(SCOPED_TABLES);
  expect(STREAM_NAMES.filter((name) => filtersOf(scope, name) !== null)).toEqual(SCOPED_TABLES);
  expect(STREAM_NAMES.filter((name) => isScoped({}, name))).toEqual([]);
});

test.each<[string, RowScope, "accounts" | "contacts"]>([
  ["two priorities", { accounts: { priority: ["1", "2"] } }, "accounts"],
  ["two owners", { accounts: { owner_id: ["a", "b"] } }, "accounts"],
  ["101 ids", { accounts: { ids: Array.from({ length: 101 }, (_, n) => String(n)) } }, "accounts"],
  ["two kinds of change", { contacts: { change_type: ["departure", "promotion"] } }, "contacts"],
])("a list is read whole for %s, and its rows are judged one by one", (_, scope, table) => {
  expect(filtersOf(scope, table)).toBeNull();
  expect(isScoped(scope, table)).toBe(true);
  expect(outsideOf(scope, table)?.noneOf).toHaveLength(1);
});

test("a record is outside by a value that the scope does not name, or by none; a field that is absent says nothing", () => {
  const scope: RowScope = { accounts: { priority: ["1"] } };
  expect(isOutside(scope, "accounts", { priority: 2 })).toBe(true);
  expect(isOutside(scope, "accounts", { priority: null })).toBe(true);
  expect(isOutside(scope, "accounts", { priority: 1 })).toBe(false);
  expect(isOutside(scope, "accounts", {})).toBe(false);
  expect(isOutside(scope, "contacts", { priority: 2 })).toBe(false);
  expect(isOutside(scope, "accounts", "no record")).toBe(false);
});

test("a signal is outside a day before the date of the scope at the earliest", () => {
  const since = Date.UTC(2026, 1, 1);
  const scope: RowScope = { signals: { since: new Date(since).toISOString() } };
  const at = (ms: number) => ({ date: new Date(ms).toISOString() });
  expect(isOutside(scope, "signals", at(since - DAY))).toBe(false);
  expect(isOutside(scope, "signals", at(since - DAY - 1))).toBe(true);
  expect(isOutside(scope, "signals", { date: "no date" })).toBe(false);
  expect(outsideOf(scope, "signals")).toEqual({ noneOf: [], before: "2026-01-31T00:00:00.000Z" });
});

test("what only the service can judge makes no row outside", () => {
  const scope: RowScope = { accounts: { text: "acme" } };
  expect(isOutside(scope, "accounts", { name: "Other" })).toBe(false);
  expect(outsideOf(scope, "accounts")).toBeNull();
  expect(idsInScope(scope, "accounts")).toBe("SELECT CAST(t.id AS VARCHAR) FROM main.accounts AS t WHERE t._in_scope");
});

test("the ids of signals whose content is wanted are those in scope, of these types, accounts and dates", () => {
  const scope: RowScope = {
    signals: { type: ["it's"] },
    content: { "signals.fullContent": { type: ["podcast"], accounts: ["7"], since: "2026-02-01T00:00:00.000Z" } },
  };
  expect(contentIds(scope)).toBe(
    `SELECT CAST(t.id AS VARCHAR) FROM main.signals AS t WHERE t._in_scope AND NOT (coalesce(CAST(t.type AS VARCHAR) NOT IN ('it''s'), true)) IS TRUE` +
      ` AND CAST(t.type AS VARCHAR) IN ('podcast') AND CAST(t.account_id AS VARCHAR) IN ('7') AND t."date" >= TIMESTAMPTZ '2026-02-01T00:00:00.000Z'`,
  );
});
