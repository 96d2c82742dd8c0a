// Lists whose scope has changed.
import { expect, test } from "vitest";
import type { RowScope } from "../../../../src/core/config/planning/scope-settings.ts";
import { changedScopes } from "../../../../src/sync/plan/remembered.ts";
import { scopeText } from "../../../../src/sync/rows/row-scope.ts";

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
