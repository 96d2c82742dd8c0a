// Strategy known, decision by decision: a page of nothing new ends it if the counts agree.
import { expect, test } from "vitest";
import { acceptWalk, nextWalk, startKnown } from "../../../../../src/sync/list/ways/walk.ts";
import { cover, facts, NOTHING_NEW, page } from "./readings.ts";

const start = startKnown({ size: 5 });
const first = acceptWalk(start, page({ ids: ["a", "b", "c", "d", "e"], total: 9 }));

test("a page of nothing new with counts that agree suffices; anything else is read to the end", () => {
  expect(start).toMatchObject({ kind: "known", proof: "identity", coverage: { overlap: true, size: 5 } });
  expect(nextWalk(start, facts(), [], 4)).toEqual({ kind: "read", reads: [cover(1)] });
  expect(nextWalk(start, facts({ rows: 0, last: NOTHING_NEW }), [], 4)).toMatchObject({ kind: "read" });
  expect(nextWalk(first, facts({ rows: 9, last: NOTHING_NEW }), [cover(2)], 4)).toEqual({ kind: "wait" });
  expect(nextWalk(first, facts({ rows: 9, last: NOTHING_NEW }), [], 4)).toEqual({
    kind: "done",
    addsUp: false,
    whole: false,
    because: "a page held nothing new, counts agree",
  });
  expect(nextWalk(first, facts({ rows: 8, acceptedGap: 1, last: NOTHING_NEW }), [], 4)).toMatchObject({ kind: "done" });
  for (const other of [
    facts({ rows: 9 }),
    facts({ rows: 8, last: NOTHING_NEW }),
    facts({ rows: 10, last: NOTHING_NEW }),
    facts({ rows: 9, last: { ...NOTHING_NEW, inserted: 1 } }),
    facts({ rows: 9, last: { ...NOTHING_NEW, updated: 1 } }),
  ]) {
    expect(nextWalk(first, other, [], 4)).toMatchObject({ kind: "read" });
  }
  const { coverage } = first;
  const uncounted = { ...first, coverage: { ...coverage, total: null } };
  expect(nextWalk(uncounted, facts({ rows: 0, last: NOTHING_NEW }), [], 4)).toMatchObject({ kind: "read" });
  const bridging = { ...first, coverage: { ...coverage, bridgeAt: 3 } };
  expect(nextWalk(bridging, facts({ rows: 9, last: NOTHING_NEW }), [], 4)).toMatchObject({
    kind: "read",
    reads: [{ role: "bridge" }],
  });
});

test("a whole list adds up, so that it may delete", () => {
  const whole = acceptWalk(start, page({ ids: ["a"], total: 1 }));
  expect(nextWalk(whole, facts({ rows: 2, seen: 1, last: NOTHING_NEW }), [], 4)).toMatchObject({
    kind: "done",
    addsUp: true,
    whole: true,
  });
  expect(nextWalk(whole, facts({ rows: 1, seen: 1, last: NOTHING_NEW }), [], 4)).toMatchObject({ addsUp: true });
});
