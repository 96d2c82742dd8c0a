// What goes before what when credits are few: relations between the numbers, not the numbers.
import { expect, test } from "vitest";
import { ORGANIZATION_LISTS, STREAM_NAMES } from "../../../../src/catalog/streams.ts";
import type { AccountFact } from "../../../../src/sync/plan/candidate.ts";
import {
  accountReadWorth,
  accountWorth,
  byWorth,
  contentWorth,
  FORBIDDEN_WORTH,
  inputWorth,
  LIST_WORTH,
  listWorth,
} from "../../../../src/sync/plan/worth.ts";

const DAY = 86_400_000;
const anAccount = (priority: number | null, score: number | null): AccountFact => ({
  id: "a",
  companyId: "c",
  priority,
  score,
  changedAt: 0,
});

test("priority decides between accounts, then the score; what is unknown counts as the lowest", () => {
  const worths = [
    [1, 100],
    [1, 0],
    [2, 100],
    [2, 0],
    [3, 100],
    [3, 0],
  ].map(([priority = 0, score = 0]) => accountWorth(anAccount(priority, score)));
  expect(worths).toEqual([...worths].sort((a, b) => b - a));
  expect(accountWorth(anAccount(null, null))).toBe(accountWorth(anAccount(3, 0)));
  expect([accountWorth(anAccount(0, 0)), accountWorth(anAccount(9, 0))]).toEqual([180, 60]);
  expect(accountWorth(undefined)).toBe(accountWorth(anAccount(2, 0)));
});

test("a list that was never read to its end goes before every change of another", () => {
  for (const stream of ORGANIZATION_LISTS)
    for (const other of STREAM_NAMES) expect(listWorth(stream, { unfinished: true })).toBeGreaterThan(listWorth(other));
});

test("the longer ago a list was checked, the more a check is worth, up to a day", () => {
  expect(listWorth("accounts", { sinceCheckMs: DAY / 2 })).toBe(listWorth("accounts") / 2);
  expect(listWorth("accounts", { sinceCheckMs: 9 * DAY })).toBe(listWorth("accounts"));
  expect(listWorth("accounts", { sinceCheckMs: -1 })).toBe(0);
});

test("no read of one company or account is worth a first page of the organization's lists", () => {
  const best = anAccount(1, 100);
  const others = STREAM_NAMES.filter((stream) => !ORGANIZATION_LISTS.includes(stream));
  const worths = others.flatMap((stream) =>
    (["due", "missing or hinted", "interrupted"] as const).map((why) => accountReadWorth(stream, best, why)),
  );
  expect(Math.max(...worths, contentWorth(best), inputWorth())).toBeLessThan(LIST_WORTH);
  // Until each list has shown its first page, nothing below this gets a credit, so no list may be below it.
  for (const list of ORGANIZATION_LISTS) expect(listWorth(list)).toBeGreaterThanOrEqual(LIST_WORTH);
});

test("an interrupted list goes before a missing one of the same company, and that before a refresh", () => {
  const worthOf = (why: "due" | "missing or hinted" | "interrupted") => accountReadWorth("filings", undefined, why);
  expect(worthOf("interrupted")).toBeGreaterThan(worthOf("missing or hinted"));
  // Of the best account, too: else a small budget would only refresh lists that are there.
  expect(accountReadWorth("news_articles", anAccount(3, 0), "missing or hinted")).toBeGreaterThan(
    accountReadWorth("news_articles", anAccount(2, 100)),
  );
  expect(FORBIDDEN_WORTH).toBeLessThan(contentWorth(anAccount(3, 0)));
});

test("streams are named from the most valuable to the usage, which counts the others' requests", () => {
  const streams = byWorth(["usage", "filings", "accounts", "signals"]);
  expect(streams).toEqual(["accounts", "signals", "filings", "usage"]);
});
