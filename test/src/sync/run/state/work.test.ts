// Lists whose records may come along with insights: only those that the mirror holds whole and that no one reads.
import { expect, test } from "vitest";
import { ORGANIZATION_LISTS } from "../../../../../src/catalog/streams.ts";
import { stateKey } from "../../../../../src/sync/plan/candidate.ts";
import { Work } from "../../../../../src/sync/run/state/work.ts";
import type { ScopeState } from "../../../../../src/warehouse/record/checkpoint.ts";
import { idleState } from "../../plan/planning-input.ts";
import { aList } from "../a-list.ts";

type Choice = ConstructorParameters<typeof Work>[1];
const workOf = (signals: Partial<ScopeState>, more: Partial<Choice> = {}) => {
  const states = ORGANIZATION_LISTS.map((stream) =>
    idleState({ stream, scope: "", at: 1 }, stream === "signals" ? signals : { walkedAt: null }),
  );
  const known = new Map(states.map((state) => [stateKey(state.stream, state.scope), state]));
  return new Work({ rows: new Map(), states: known }, { configured: ORGANIZATION_LISTS, rowScope: {}, ...more });
};
const embeddable = (...given: Parameters<typeof workOf>) => [...workOf(...given).embeddable];

test("a list that was read to its end", () => {
  expect(embeddable({})).toEqual(["signals"]);
  expect(embeddable({ walkedAt: null })).toEqual([]);
  expect(embeddable({ status: "walking" })).toEqual([]);
});

test("not one that is being read, until it is finished", () => {
  const [work, list] = [workOf({}), aList({ stream: "signals" })];
  work.begin(list);
  expect([...work.embeddable]).toEqual([]);
  work.finish(list);
  expect([...work.embeddable]).toEqual(["signals"]);
});

test("not one that is not mirrored, nor one of which only a part is", () => {
  expect(embeddable({}, { configured: ["accounts"] })).toEqual([]);
  expect(embeddable({}, { rowScope: { signals: { type: ["funding"] } } })).toEqual([]);
});
