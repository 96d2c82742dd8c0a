// Lists whose scope has changed.
import { expect, test } from "vitest";
import type { RowScope } from "../../../../src/core/config/planning/scope-settings.ts";
import type { Checked } from "../../../../src/core/state/checked.ts";
import { changedScopes, totalsWithin } from "../../../../src/sync/plan/remembered.ts";
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
const checked = (of: Record<string, string>): Checked => ({
  totals: new Map([
    ["signals", 7],
    ["accounts", 9],
    ["usage", 3],
  ]),
  filters: new Map(Object.entries(of)),
  pageSizes: new Map(),
  credits: null,
});
const streams = (found: ReadonlyMap<string, number>) => [...found.keys()];

test("a list that was counted whole is of use where it is read whole", () => {
  expect(streams(totalsWithin(checked({}), {}))).toEqual(["signals", "accounts", "usage"]);
  expect(streams(totalsWithin(checked({}), scope))).toEqual(["accounts", "usage"]);
});

test("one that was counted with filters is of use with the same ones", () => {
  expect(totalsWithin(checked({ signals: filters }), scope).get("signals")).toBe(7);
  expect(streams(totalsWithin(checked({ signals: filters }), {}))).toEqual(["accounts", "usage"]);
  expect(streams(totalsWithin(checked({ signals: '{"x":1}' }), scope))).toEqual(["accounts", "usage"]);
});
