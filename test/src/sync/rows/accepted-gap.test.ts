import { expect, test } from "vitest";
import { acceptedGap, addedScope } from "../../../../src/sync/rows/accepted-gap.ts";
import { scopeText } from "../../../../src/sync/rows/row-scope.ts";

// What a scope adds to an earlier one, as a scope of its own.

const SINCE = "2026-01-01T00:00:00.000Z";

test("values added to one filter are a filtered list of their own, within the other filters", () => {
  const from = { signals: { type: ["podcast"], since: SINCE } };
  const to = { signals: { type: ["funding-alert", "podcast"], since: SINCE }, contacts: { type: ["champion"] } };
  expect(addedScope(scopeText(from, "signals"), to, "signals")).toEqual({
    ...to,
    signals: { type: ["funding-alert"], since: SINCE },
  });
  const accounts = { accounts: { ids: ["1", "2", "3"], type: ["customer"], priority: ["1"] } };
  const earlier = { accounts: { ...accounts.accounts, ids: ["2"] } };
  expect(addedScope(scopeText(earlier, "accounts"), accounts, "accounts")).toEqual({
    accounts: { ...accounts.accounts, ids: ["1", "3"] },
  });
});

test("two account types where there was one: the document does not say that the service takes two", () => {
  const to = (...type: string[]) => ({ accounts: { type } });
  const added = (from: readonly string[], wanted: readonly string[]) =>
    addedScope(scopeText(to(...from), "accounts"), to(...wanted), "accounts");
  expect(added(["customer"], ["customer", "prospect"])).toBeNull();
  expect(added(["customer", "prospect"], ["customer", "other", "prospect"])).toEqual(to("other"));
});

test.each([
  ["no scope before", {}, { signals: { type: ["a"] } }],
  ["no scope now", { signals: { type: ["a"] } }, {}],
  ["no other value", { signals: { type: ["a"] } }, { signals: { type: ["a"] } }],
  ["a value less", { signals: { type: ["a", "b"] } }, { signals: { type: ["a"] } }],
  ["a value less and one more", { signals: { type: ["a", "b"] } }, { signals: { type: ["a", "c"] } }],
  ["another filter, too", { signals: { type: ["a"] } }, { signals: { type: ["a", "b"], since: SINCE } }],
  ["an earlier date", { signals: { since: SINCE } }, { signals: { since: "2025-01-01T00:00:00.000Z" } }],
])("signals, %s: not read alone", (_, from, to) => {
  expect(addedScope(scopeText(from, "signals"), to, "signals")).toBeNull();
});

test.each([
  ["a text", { text: "x" }],
  ["signals of a type", { signals_of_type: ["podcast"], signals_after: SINCE }],
  ["two priorities, which makes it read whole", { priority: ["1", "2"] }],
])("accounts with %s: not read alone", (_, rest) => {
  const to = { accounts: { ids: ["1", "2"], ...rest } };
  expect(addedScope(scopeText({ accounts: { ids: ["1"], ...rest } }, "accounts"), to, "accounts")).toBeNull();
});

test("contacts: not read alone", () => {
  const to = { contacts: { type: ["champion", "prospect"] } };
  expect(addedScope('{"type":["champion"]}', to, "contacts")).toBeNull();
});

test("the gap is what the service counts beyond the rows, or fewer, and unknown until a complete walk has ended", () => {
  expect(acceptedGap({ totalCount: 10, rowsAtWalk: 7 })).toBe(3);
  expect(acceptedGap({ totalCount: 7, rowsAtWalk: 10 })).toBe(-3);
  expect(acceptedGap({ totalCount: 0, rowsAtWalk: 0 })).toBe(0);
  expect(
    [{ totalCount: null, rowsAtWalk: 7 }, { totalCount: 7, rowsAtWalk: null }, undefined].map(acceptedGap),
  ).toEqual([null, null, null]);
});
