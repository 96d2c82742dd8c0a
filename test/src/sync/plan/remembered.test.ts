// Lists whose scope has changed, and those of which only the added rows are read.
import { describe, expect, test } from "vitest";
import type { RowScope } from "../../../../src/core/config/planning/scope-settings.ts";
import { initialShape, type ListShape } from "../../../../src/sync/list/form.ts";
import { changedScopes, wideningLists } from "../../../../src/sync/plan/remembered.ts";
import { scopeText } from "../../../../src/sync/rows/row-scope.ts";
import type { ScopeState } from "../../../../src/warehouse/record/checkpoint.ts";
import { dueOptions, idleState } from "./planning-input.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 21);
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

describe("a scope with one more value", () => {
  const complete = idleState(
    { stream: "signals", scope: "", at: NOW - DAY },
    { watermark: NOW - 2 * DAY, totalCount: 500, rowsAtWalk: 500 },
  );
  const shape: ListShape = { ...initialShape(100), settled: true };
  const widens = (
    state: Partial<ScopeState> = {},
    {
      shapeOf = {},
      capabilities = stored(ONE),
      rowScope = TWO,
      ...more
    }: {
      readonly shapeOf?: Partial<ListShape>;
      readonly capabilities?: ReadonlyMap<string, string>;
      readonly rowScope?: RowScope;
      readonly full?: boolean;
      readonly reset?: readonly { readonly stream: "signals" }[];
    } = {},
  ) => {
    const shapes = new Map([["signals", { ...shape, ...shapeOf }]] as const);
    const options = { ...dueOptions({ rowScope, shapes, full: more.full ?? false }), reset: more.reset ?? [] };
    return wideningLists({ capabilities, states: [{ ...complete, ...state }] }, options, NOW);
  };

  test("needs only the rows of that value, if the list is complete for the others", () => {
    expect([...widens()]).toEqual([["signals", { added: { signals: { type: ["hiring"] } }, before: complete }]]);
  });

  test.each<[string, Parameters<typeof widens>]>([
    ["whose rows do not add up", [{ rowsAtWalk: 499 }]],
    ["with unconfirmed rows", [{ unconfirmed: { rows: 1, because: "" } }]],
    ["without a watermark", [{ watermark: null }]],
    ["that was never walked", [{ walkedAt: null }]],
    ["that is due for a walk anyway", [{ walkedAt: NOW - 8 * DAY }]],
    ["of one page", [{ totalCount: 100, rowsAtWalk: 100 }]],
    ["that was interrupted for its earlier scope", [{ status: "walking" }]],
    ["that the service does not filter", [{}, { shapeOf: { filters: false } }]],
    ["that the service does not sort by change", [{}, { shapeOf: { changeOrder: false } }]],
    ["that --full reads", [{}, { full: true }]],
    ["that is reset", [{}, { reset: [{ stream: "signals" }] }]],
    ["that loses a value, too", [{}, { rowScope: { signals: { type: ["hiring"] } } }]],
  ])("a list %s is read whole", (_, given) => {
    expect(widens(...given).size).toBe(0);
  });

  test("goes on where it was interrupted, but not towards another scope", () => {
    const half = (to: RowScope) =>
      new Map([["scope.signals", JSON.stringify({ complete_for: ONE.signals ?? {}, widens_to: to.signals ?? {} })]]);
    expect(widens({ status: "walking" }, { capabilities: half(TWO) }).size).toBe(1);
    expect(widens({ status: "failed" }, { capabilities: half(TWO) }).size).toBe(0);
    const three: RowScope = { signals: { type: ["funding", "hiring", "news"] } };
    expect(widens({ status: "walking" }, { capabilities: half(three) }).size).toBe(0);
  });
});
