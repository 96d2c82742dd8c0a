// Lists whose scope has changed.
import { expect, test } from "vitest";
import type { RowScope } from "../../../../src/core/config/planning/scope-settings.ts";
import type { Checked } from "../../../../src/core/state/checked.ts";
import { changedScopes, countedBy } from "../../../../src/sync/plan/remembered.ts";
import { filtersOf, scopeText } from "../../../../src/sync/rows/row-scope.ts";

const ONE: RowScope = { signals: { type: ["funding"] } };
const TWO: RowScope = { signals: { type: ["funding", "hiring"] } };
const stored = (scope: RowScope) => new Map([["scope.signals", scopeText(scope, "signals")]]);

test("a list's scope has changed if it differs from the one that the list was read with; nothing stored means the whole list", () => {
  expect(changedScopes(new Map(), {})).toEqual([]);
  expect(changedScopes(new Map(), ONE)).toEqual(["signals"]);
  expect(changedScopes(stored(ONE), ONE)).toEqual([]);
  expect(changedScopes(stored(ONE), TWO)).toEqual(["signals"]);
  expect(changedScopes(stored(ONE), {})).toEqual(["signals"]);
});

// Lengths of lists that `check` counted: only those of lists that are read with the same filters now.

const scope = { signals: { type: ["funding"] } };
const filters = JSON.stringify(filtersOf(scope, "signals"));
const checked = (of: string | null = null): Checked => ({
  lists: { signals: { total: 7, page: null, filters: of }, accounts: { total: 9, page: 50, filters: null } },
  credits: { limit: 100, used: 3, remaining: 97, resetsAt: null },
});
const streams = (of: string | null, within: RowScope) => [...countedBy(checked(of), within).totals.keys()];

test("a list that was counted whole is of use where it is read whole", () => {
  expect(streams(null, {})).toEqual(["signals", "accounts", "usage"]);
  expect(streams(null, scope)).toEqual(["accounts", "usage"]);
  expect([...countedBy(checked(), scope).pageSizes]).toEqual([["accounts", 50]]);
});

test("one that was counted with filters is of use with the same ones", () => {
  expect(countedBy(checked(filters), scope).totals.get("signals")).toBe(7);
  expect(streams(filters, {})).toEqual(["accounts", "usage"]);
  expect(streams('{"x":1}', scope)).toEqual(["accounts", "usage"]);
});

test("each used credit is an entry of the request history", () => {
  expect(countedBy(checked(), {}).totals.get("usage")).toBe(3);
});
