// Strategy known, decision by decision: a page of nothing new ends it if the counts agree.
import { expect, test } from "vitest";
import { acceptKnown, nextKnown, startKnown } from "../../../../../src/sync/list/ways/walk.ts";
import { cover, facts, NOTHING_NEW, page } from "./readings.ts";

const start = startKnown({ size: 5 });
const first = acceptKnown(start, page({ ids: ["a", "b", "c", "d", "e"], total: 9 }));

test("a page of nothing new with counts that agree suffices; anything else is read to the end", () => {
  expect(start).toMatchObject({ kind: "known", walk: { proof: "identity", coverage: { overlap: true, size: 5 } } });
  expect(nextKnown(start, facts(), [])).toEqual({ kind: "read", reads: [cover(1)] });
  expect(nextKnown(start, facts({ rows: 0, last: NOTHING_NEW }), [])).toMatchObject({ kind: "read" });
  expect(nextKnown(first, facts({ rows: 9, last: NOTHING_NEW }), [cover(2)])).toEqual({ kind: "wait" });
  expect(nextKnown(first, facts({ rows: 9, last: NOTHING_NEW }), [])).toEqual({
    kind: "done",
    addsUp: false,
    whole: false,
    because: "a page held nothing new, counts agree",
  });
  expect(nextKnown(first, facts({ rows: 8, acceptedGap: 1, last: NOTHING_NEW }), [])).toMatchObject({ kind: "done" });
  for (const other of [
    facts({ rows: 9 }),
    facts({ rows: 8, last: NOTHING_NEW }),
    facts({ rows: 10, last: NOTHING_NEW }),
    facts({ rows: 9, last: { ...NOTHING_NEW, inserted: 1 } }),
    facts({ rows: 9, last: { ...NOTHING_NEW, updated: 1 } }),
  ]) {
    expect(nextKnown(first, other, [])).toMatchObject({ kind: "read" });
  }
  const { walk } = first;
  const uncounted = { ...first, walk: { ...walk, coverage: { ...walk.coverage, total: null } } };
  expect(nextKnown(uncounted, facts({ rows: 0, last: NOTHING_NEW }), [])).toMatchObject({ kind: "read" });
  const bridging = { ...first, walk: { ...walk, coverage: { ...walk.coverage, bridgeAt: 3 } } };
  expect(nextKnown(bridging, facts({ rows: 9, last: NOTHING_NEW }), [])).toMatchObject({
    kind: "read",
    reads: [{ role: "bridge" }],
  });
});

test("a whole list adds up, so that it may delete", () => {
  const whole = acceptKnown(start, page({ ids: ["a"], total: 1 }));
  expect(nextKnown(whole, facts({ rows: 2, seen: 1, last: NOTHING_NEW }), [])).toMatchObject({
    kind: "done",
    addsUp: true,
    whole: true,
  });
  expect(nextKnown(whole, facts({ rows: 1, seen: 1, last: NOTHING_NEW }), [])).toMatchObject({ addsUp: true });
});
