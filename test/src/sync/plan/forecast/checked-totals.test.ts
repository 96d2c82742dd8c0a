// Lengths of lists that `check` counted: only those of lists that are read with the same filters now.
import { expect, test } from "vitest";
import type { Checked } from "../../../../../src/core/state/checked.ts";
import { totalsWithin } from "../../../../../src/sync/plan/forecast/checked-totals.ts";
import { filtersOf } from "../../../../../src/sync/rows/row-scope.ts";

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
