// What a walk decides at its edges, one rule at a time (walk.test.ts has its other decisions).
import { describe, expect, test } from "vitest";
import type { PageRead, Proof } from "../../../../../src/sync/list/coverage/contract.ts";
import { acceptWalk, startWalk, type WalkState } from "../../../../../src/sync/list/ways/walk.ts";
import { descending, page } from "./readings.ts";

const start = (proof: Proof, overlap = false, size = 5) => startWalk({ size, overlap, proof });

describe("pages share a row", () => {
  test("from the start where only shared ids are proof, or rows may be deleted", () => {
    const overlaps = (proof: Proof, overlap: boolean) => start(proof, overlap).coverage.overlap;
    expect([overlaps("identity", false), overlaps("descending", true), overlaps("descending", false)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("and from the first page out of order on", () => {
    const overlapAfter = (state: WalkState, ids: readonly string[]) =>
      acceptWalk(state, page({ ids, total: 9 })).coverage.overlap;
    expect(overlapAfter(start("descending"), ["5", "4", "3", "2", "1"])).toBe(false);
    expect(overlapAfter(start("descending"), ["1", "5", "4", "3", "2"])).toBe(true);
    expect(overlapAfter(start("descending", true), ["5", "4", "3", "2", "1"])).toBe(true);
  });
});

describe("the order of a list", () => {
  test.each([
    {
      rule: "rows of one page show it",
      read: page({ ids: descending(9, 5), total: 9 }),
      proof: "descending",
      ordered: true,
    },
    { rule: "an id twice is none", read: page({ ids: ["c", "c", "b"], total: 3 }), proof: "identity", ordered: false },
    {
      rule: "pages of one row look ordered and show none",
      read: page({ ids: ["9"], total: 3 }),
      proof: "identity",
      ordered: false,
    },
  ] satisfies { rule: string; read: PageRead; proof: Proof; ordered: boolean }[])(
    "$rule",
    ({ read, proof, ordered }) => {
      expect(acceptWalk(start("descending"), read)).toMatchObject({ proof, ordered });
    },
  );

  test("nor does a page of one row where the service grants no more", () => {
    const one = acceptWalk(start("descending", false, 1), page({ perPage: 1, ids: ["9"], total: 3 }));
    expect(one).toMatchObject({ proof: "identity", ordered: false });
  });
});
