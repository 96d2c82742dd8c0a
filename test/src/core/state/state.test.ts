// Small state files: what checks saw, followed inputs, the tier, and answers that could not be used. Shows P21.
import { describe, expect, test } from "vitest";
import { follow, inputProblem, noteErased, readFollowing, unfollow } from "../../../../src/core/state/following.ts";
import { learnChecked, readChecked } from "../../../../src/core/state/last-check.ts";
import {
  accessOf,
  isNews,
  isProven,
  type KnownTier,
  probeAt,
  shownTier,
  tierAfter,
} from "../../../../src/core/state/tier.ts";
import {
  isClosed,
  isGone,
  MANY_OF_STREAM,
  nextTryAt,
  splitWaiting,
  type Unusable,
  waitingJson,
  waitingNow,
  waitsDeep,
  withUnusable,
  withUsable,
} from "../../../../src/core/state/unusable-responses.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

const counted = (total: number, page: number | null = null, filters: string | null = null) => ({
  total,
  page,
  filters,
});

test("a check adds to what earlier ones saw, and replaces the lists that it asked for and the figures that were reported", async () => {
  const dataDir = tempDir();
  expect(await readChecked(dataDir)).toMatchObject({ lists: {}, credits: null });
  const credits = { limit: 100, used: 7, remaining: 93, resetsAt: null };
  await learnChecked(dataDir, { lists: { accounts: counted(5, 100), signals: counted(9, null, "{}") }, credits });
  await learnChecked(dataDir, { lists: { accounts: counted(6) }, credits: null });
  expect(await readChecked(dataDir)).toMatchObject({
    lists: { accounts: counted(6), signals: counted(9, null, "{}") },
    credits,
  });
});

const inputsIn = async (dataDir: string) => (await readFollowing(dataDir)).following.map(({ input }) => input);
const ALONE = { erase: false, configured: [] };

test.each([
  ["", /empty/],
  ["x".repeat(1001), /1001 characters/],
  ["a\nb", /control character/],
  [".", /names no company/],
  ["..", /names no company/],
])("%j cannot be an input", (input, problem) => {
  expect(inputProblem(input)).toMatch(problem);
});

test("any other text can", () => {
  expect(["acme.com", "...", "x".repeat(1000)].map(inputProblem)).toEqual([null, null, null]);
});

test("an input is followed once, since the first time", async () => {
  const dataDir = tempDir();
  expect(await follow(dataDir, ["a", "b", "a"], 1)).toEqual(["a", "b"]);
  expect(await follow(dataDir, ["b", "c"], 2)).toEqual(["c"]);
  expect((await readFollowing(dataDir)).following).toEqual([
    { input: "a", since: 1 },
    { input: "b", since: 1 },
    { input: "c", since: 2 },
  ]);
});

test("an input that is followed no more keeps its rows, unless they are to be erased, until it is followed again", async () => {
  const dataDir = tempDir();
  await follow(dataDir, ["a", "b", "c"], 1);
  await unfollow(dataDir, ["a"], ALONE);
  await unfollow(dataDir, ["b", "c"], { ...ALONE, erase: true });
  expect(await readFollowing(dataDir)).toMatchObject({ following: [], erase: ["b", "c"] });
  await follow(dataDir, ["b"], 2);
  expect(await readFollowing(dataDir)).toMatchObject({ erase: ["c"] });
  await noteErased(dataDir, ["c"]);
  expect(await readFollowing(dataDir)).toMatchObject({ erase: [] });
});

test("of several inputs one that is not followed, or is configured, leaves all as they were", async () => {
  const dataDir = tempDir();
  await follow(dataDir, ["a"], 1);
  const usage = { code: "USAGE" };
  await expect(unfollow(dataDir, ["a", "x"], ALONE)).rejects.toMatchObject(usage);
  await expect(unfollow(dataDir, ["a"], { erase: false, configured: ["a"] })).rejects.toMatchObject(usage);
  expect(await inputsIn(dataDir)).toEqual(["a"]);
});

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

const HOUR_MS = 3_600_000;
const FIRST_PAGE = { goneOn: false, deep: false, free: false };
const place = { stream: "filings", scope: "c_1" };
const failing = (times: number): readonly Unusable[] => {
  let known: readonly Unusable[] = [];
  for (let time = 1; time <= times; time++) known = withUnusable(known, place, 0, FIRST_PAGE);
  return known;
};
const manyOf = (stream: string): readonly Unusable[] =>
  Array.from({ length: MANY_OF_STREAM }, (_, n) => ({ stream, scope: `c_${n}`, times: 2, at: 0 }));

test("the next sync tries again; after that the wait doubles from an hour to a week", () => {
  const waits = [1, 2, 3, 4, 9, 10, 99].map((times) => Math.max(...failing(times).map(nextTryAt)) / HOUR_MS);
  expect(waits).toEqual([0, 1, 2, 4, 128, 168, 168]);
});

test("what is refused, which costs nothing, is asked for again after a day at most", () => {
  let known: readonly Unusable[] = [];
  const waits: number[] = [];
  for (let time = 1; time <= 8; time++) {
    known = withUnusable(known, place, 0, { ...FIRST_PAGE, free: true });
    waits.push(Math.max(...known.map(nextTryAt)) / HOUR_MS);
  }
  expect(waits).toEqual([0, 1, 2, 4, 8, 16, 24, 24]);
});

test("what a clock that was a day ahead noted holds nothing up", () => {
  const ahead = failing(5).map((entry) => ({ ...entry, at: 24 * HOUR_MS }));
  expect(splitWaiting([place], ahead, 0).due).toEqual([place]);
  expect(splitWaiting([place], ahead, 25 * HOUR_MS).due).toEqual([]);
});

test("a list that was read further, or to its end, begins anew", () => {
  expect(withUnusable(failing(5), place, 3, { ...FIRST_PAGE, goneOn: true })).toEqual([{ ...place, times: 1, at: 3 }]);
  expect(withUsable(failing(5), place)).toEqual([]);
  expect(withUsable(failing(5), { ...place, scope: "c_2" })).toEqual(failing(5));
});

test("a 404 of text is believed by the third sync in a row, the first a day ago; any other answer begins anew", () => {
  const doubtful = { ...FIRST_PAGE, free: true, doubtful: true } as const;
  const believedAt = (hours: readonly number[]) => {
    let known: readonly Unusable[] = [];
    const believed = hours.map((hour) => {
      known = withUnusable(known, place, hour * HOUR_MS, doubtful);
      return isGone(known, place, hour * HOUR_MS) && !isGone(known, { ...place, scope: "c_2" }, hour * HOUR_MS);
    });
    return believed.indexOf(true) + 1;
  };
  expect([believedAt([0, 1, 24]), believedAt([0, 24]), believedAt([0, 1, 2, 23.9, 30])]).toEqual([3, 0, 5]);
  const refused = withUnusable(withUnusable([], place, 0, doubtful), place, 0, { ...FIRST_PAGE, free: true });
  expect(isGone(withUnusable(refused, place, HOUR_MS, doubtful), place, 24 * HOUR_MS)).toBe(false);
});

test("what waits is left out and counted, with the time of the first of it", () => {
  const other = { stream: "filings", scope: "c_2" };
  const known = [...failing(3), { ...other, times: 2, at: 0 }];
  const all = [place, other, { stream: "filings", scope: "c_3" }];
  expect(splitWaiting(all, known, HOUR_MS - 1)).toEqual({
    due: [all[2]],
    waiting: [{ stream: "filings", places: 2, until: HOUR_MS }],
  });
  expect(splitWaiting(all, known, 2 * HOUR_MS)).toEqual({ due: all, waiting: [] });
});

test("a list waits for its deep page only while no earlier page fails", () => {
  const deep = withUnusable(failing(2), place, 0, { goneOn: false, deep: true, free: false });
  expect([waitsDeep(failing(2), place), waitsDeep(deep, place)]).toEqual([false, true]);
  expect(waitsDeep(withUnusable(deep, place, 0, FIRST_PAGE), place)).toBe(false);
});

test("all that waits is named with the time at which it is asked for again", () => {
  const known = [...failing(3), { stream: "contacts", scope: "", times: 1, at: 0 }];
  expect(waitingJson(waitingNow(known, 0))).toEqual([
    { stream: "filings", requests: 1, asked_again_at: "1970-01-01T02:00:00.000Z" },
  ]);
  expect(waitingNow(known, 2 * HOUR_MS)).toEqual([]);
});

test("where many lists of a stream cannot be used, one is tried for all of them", () => {
  const known = manyOf("filings");
  const all = ["c_1", "c_2", "c_99"].map((scope) => ({ stream: "filings", scope }));
  const elsewhere = { stream: "news_articles", scope: "c_1" };
  expect(splitWaiting([...all, elsewhere], known, 0).due).toEqual([elsewhere]);
  const probed = splitWaiting(all, known, HOUR_MS);
  expect([probed.due, probed.waiting[0]?.places]).toEqual([[all[0]], 2]);
  expect([isClosed(known, "filings"), isClosed(known.slice(1), "filings")]).toEqual([true, false]);
  expect(withUsable(known, { stream: "filings", scope: "c_99" })).toEqual([]);
});

test("the organization's own list waits only for itself", () => {
  const known = manyOf("signals").map((entry) => ({ ...entry, scope: `detail:${entry.scope}` }));
  const own = { stream: "signals", scope: "" };
  expect(splitWaiting([own, { stream: "signals", scope: "detail:99" }], known, 0).due).toEqual([own]);
});
