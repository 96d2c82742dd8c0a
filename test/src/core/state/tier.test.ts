// The tier: what evidence changes, and which routes may be asked for then.
import { describe, expect, test } from "vitest";
import {
  accessOf,
  isNews,
  isProven,
  type KnownTier,
  probeAt,
  shownTier,
  tierAfter,
} from "../../../../src/core/state/tier.ts";

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 21);
const FULL: KnownTier = { tier: "full", since: 1, evidence: "accounts were returned", seen_at: 1, doubted_at: null };
const PUBLIC: KnownTier = { ...FULL, tier: "public", evidence: "the account list is empty", seen_at: NOW };
const records = { shows: "full", because: "accounts were returned" } as const;
const empty = { shows: "public", because: "the account list is empty", held: false } as const;

describe("the tier", () => {
  test("is unknown at first, and the first answer decides it", () => {
    expect(accessOf(null, NOW, false)).toBe("unknown");
    expect(tierAfter(null, empty, NOW)).toMatchObject({ tier: "public", since: NOW, seen_at: NOW });
    expect(tierAfter(null, records, NOW)).toMatchObject({ tier: "full", since: NOW });
  });

  test("keeps its beginning while the same is seen again", () => {
    expect(tierAfter(FULL, records, NOW)).toMatchObject({ tier: "full", since: 1, seen_at: NOW });
    expect(isNews(FULL, records, 2)).toBe(false);
    expect(isNews(FULL, records, 2 + DAY_MS)).toBe(true);
  });

  test("does not matter to a user who accepts that lists turned empty, once it is known", () => {
    expect([accessOf(PUBLIC, NOW, true), accessOf(FULL, NOW, true)]).toEqual(["open", "open"]);
    expect(accessOf(null, NOW, true)).toBe("unknown");
  });

  test("without Full Access allows a probe after a day, then in growing intervals up to 30 days", () => {
    let known = tierAfter(null, empty, NOW);
    const days: number[] = [];
    while (known !== null && days.length < 8) {
      const at = probeAt(known);
      expect([accessOf(known, at - 1, false), accessOf(known, at, false)]).toEqual(["closed", "probe"]);
      expect(isNews(known, empty, at)).toBe(true);
      days.push((at - NOW) / DAY_MS);
      known = tierAfter(known, empty, at);
    }
    expect(days).toEqual([1, 2, 4, 8, 16, 32, 62, 92]);
    expect(tierAfter(PUBLIC, records, NOW)).toMatchObject({ tier: "full", since: NOW });
  });

  test("without Full Access is proven by two answers, a day apart", () => {
    const once = tierAfter(null, empty, NOW);
    const twice = tierAfter(once, empty, NOW + DAY_MS);
    expect([FULL, once, twice].map((known) => known !== null && isProven(known))).toEqual([true, false, true]);
  });

  test("of a mirror with rows ends only when its lists are empty for a day", () => {
    const held = { ...empty, held: true };
    const doubted = tierAfter(FULL, held, NOW);
    expect(doubted).toMatchObject({ tier: "full", since: 1, doubted_at: NOW });
    expect(tierAfter(doubted, held, NOW + DAY_MS - 1)).toMatchObject({ tier: "full", doubted_at: NOW });
    expect(tierAfter(doubted, held, NOW + DAY_MS)).toMatchObject({ tier: "public", since: NOW });
    expect(tierAfter(doubted, records, NOW + 1)).toMatchObject({ tier: "full", doubted_at: null });
    expect(tierAfter(null, held, NOW)).toMatchObject({ tier: "full", doubted_at: NOW });
    // Until then users see what the last response showed.
    expect(shownTier({ ...FULL, doubted_at: NOW })).toMatchObject({ tier: "public", since: NOW });
    expect(shownTier(FULL)).toEqual(FULL);
  });
});
