// What people read of failures that repeat.
import { expect, test } from "vitest";
import { ORGANIZATION_LISTS } from "../../../../../src/catalog/streams.ts";
import { DuckmirrorError } from "../../../../../src/core/errors.ts";
import { stateKey } from "../../../../../src/sync/plan/candidate.ts";
import { embeddableLists, failureText } from "../../../../../src/sync/run/state/list-ends.ts";
import type { ScopeState } from "../../../../../src/warehouse/record/checkpoint.ts";
import { idleState } from "../../plan/planning-input.ts";

// Lists whose records may come along with insights: only those that the mirror holds whole.

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

const failed = (detail: string) => new DuckmirrorError("REQUEST_FAILED", { endpoint: "e", detail });
const texts = (...details: readonly string[]) => {
  const failures = new Map<string, number>();
  return details.map((detail) => failureText(failures, "filings", failed(detail)));
};

test("five failures for one reason are reported, then once that there are more, then none", () => {
  const found = texts(...Array(9).fill("status 500"));
  expect(found.slice(0, 5).every((text) => text?.includes("status 500"))).toBe(true);
  expect(found[5]).toBe(
    "filings: further failures like this one (REQUEST_FAILED) are not listed; sync.requests has each of them.",
  );
  expect(found.slice(6)).toEqual([null, null, null]);
});

test("another reason is reported anew; other words of the same response are not another reason", () => {
  const found = texts(...Array(7).fill("status 500, a"), "status 500, b", "status 503: c");
  expect(found[7]).toBeNull();
  expect(found[8]).toContain("status 503");
});
