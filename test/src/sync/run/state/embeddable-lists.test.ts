// Lists whose records may come along with insights: only those that the mirror holds whole.
import { expect, test } from "vitest";
import { ORGANIZATION_LISTS } from "../../../../../src/catalog/streams.ts";
import { stateKey } from "../../../../../src/sync/plan/candidate.ts";
import { embeddableLists } from "../../../../../src/sync/run/state/embeddable-lists.ts";
import type { ScopeState } from "../../../../../src/warehouse/record/checkpoint.ts";
import { idleState } from "../../plan/planning-input.ts";

const embeddable = (signals: Partial<ScopeState>, more: Partial<Parameters<typeof embeddableLists>[1]> = {}) => {
  const states = ORGANIZATION_LISTS.map((stream) =>
    idleState({ stream, scope: "", at: 1 }, stream === "signals" ? signals : { walkedAt: null }),
  );
  const known = new Map(states.map((state) => [stateKey(state.stream, state.scope), state]));
  return [...embeddableLists(known, { configured: ORGANIZATION_LISTS, rowScope: {}, ...more })];
};

test("a list that was read to its end and is not being read", () => {
  expect(embeddable({})).toEqual(["signals"]);
  expect(embeddable({ walkedAt: null })).toEqual([]);
  expect(embeddable({ status: "walking" })).toEqual([]);
  expect(embeddableLists(new Map(), { configured: ORGANIZATION_LISTS, rowScope: {} }).size).toBe(0);
});

test("not one that is not mirrored, nor one of which only a part is", () => {
  expect(embeddable({}, { configured: ["accounts"] })).toEqual([]);
  expect(embeddable({}, { rowScope: { signals: { type: ["funding"] } } })).toEqual([]);
});
