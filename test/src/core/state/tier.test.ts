// The tier: what evidence changes, and which routes may be asked for then.
import { describe, expect, test } from "vitest";
import {
  accessOf,
  isNews,
  type KnownTier,
  PROBE_EVERY_MS,
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

  test("without Full Access allows one probe in 30 days", () => {
    expect(accessOf(PUBLIC, NOW + PROBE_EVERY_MS - 1, false)).toBe("closed");
    expect(accessOf(PUBLIC, NOW + PROBE_EVERY_MS, false)).toBe("probe");
    expect(tierAfter(PUBLIC, records, NOW)).toMatchObject({ tier: "full", since: NOW });
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
