import { describe, expect, test } from "vitest";
import type { StreamName } from "../../../../../src/catalog/streams.ts";
import { initialShape, type ListShape } from "../../../../../src/sync/list/form.ts";
import type { Candidate, Context, DueOptions, MirrorView } from "../../../../../src/sync/plan/candidate.ts";
import {
  creditsPerDay,
  creditsUntil,
  cyclesOf,
  detailsPerSignal,
} from "../../../../../src/sync/plan/forecast/cycles.ts";
import type { ScopeState } from "../../../../../src/warehouse/record/checkpoint.ts";
import { contextOf, due, idleState } from "../planning-input.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 21);

const aContext = (
  states: readonly ScopeState[],
  options: Partial<DueOptions> = {},
  view: Partial<MirrorView> = {},
): Context => {
  const accounts = [{ id: "1", companyId: "c_1", priority: 1, score: 50, changedAt: NOW }];
  return contextOf(NOW, states, options, { accounts, companies: new Set(["c_1"]), ...view });
};
const cyclesIn = (context: Context, stream: StreamName, planned: readonly Candidate[] = []) =>
  cyclesOf({ context, due: planned, syncEveryMs: DAY }).flatMap(({ stream: name, ...cycle }) =>
    name === stream ? [cycle] : [],
  );
const state = (stream: StreamName, scope: string, days: number, totalCount: number | null) =>
  idleState({ stream, scope, at: NOW - days * DAY }, { totalCount });

describe("an organization's list", () => {
  const accounts = state("accounts", "", 5, 250);

  test("takes one look in every sync, and what a walk costs beyond it when the walk is due", () => {
    expect(cyclesIn(aContext([accounts]), "accounts")).toEqual([
      { credits: 1, everyMs: DAY, nextAt: NOW + DAY },
      { credits: 2, everyMs: 7 * DAY, nextAt: NOW + 2 * DAY },
    ]);
  });

  test("that this sync walks is walked again a whole period later; an overdue walk waits for the next sync", () => {
    const [, walkedNow] = cyclesIn(aContext([accounts]), "accounts", [due("accounts", "walk")]);
    expect(walkedNow?.nextAt).toBe(NOW + 7 * DAY);
    const [, overdue] = cyclesIn(aContext([state("accounts", "", 30, 250)]), "accounts");
    expect(overdue?.nextAt).toBe(NOW + DAY);
  });

  test("of a service that shows no changes is walked in every sync, so no walk comes on top", () => {
    const shapes = (more: Partial<ListShape>) => new Map([["accounts" as const, { ...initialShape(100), ...more }]]);
    const [look, more] = cyclesIn(aContext([accounts], { shapes: shapes({ changeOrder: false }) }), "accounts");
    expect([look?.credits, more?.credits]).toEqual([3, 0]);
    // Contacts have a filter by change date; a page of the whole list shows its count.
    const contacts = state("contacts", "", 5, 250);
    const order = new Map([["contacts" as const, { ...initialShape(100), changeOrder: false }]]);
    expect(cyclesIn(aContext([contacts], { shapes: order }), "contacts")[0]?.credits).toBe(2);
  });
});

describe("what is read again by age", () => {
  test("a company's list takes a credit each time, and every fourth time a walk of all of its pages", () => {
    const [news, ...more] = cyclesIn(aContext([state("news_articles", "c_1", 2, 500)]), "news_articles");
    // 500 rows are five pages, six where pages share a row.
    expect(news).toEqual({ credits: 1 + 5 / 4, everyMs: 7 * DAY, nextAt: NOW + 5 * DAY });
    expect(more).toEqual([]);
  });

  test("accounts that the sync reads for the first time bring insights and lists that recur, too", () => {
    const context = aContext([], { totals: new Map([["accounts", 11]]) });
    const [mirrored, unread] = cyclesIn(context, "filings");
    expect([mirrored?.credits, unread]).toEqual([1, { credits: 10, everyMs: 30 * DAY, nextAt: NOW + 30 * DAY }]);
    expect(cyclesIn(context, "account_insights").map(({ credits }) => credits)).toEqual([1, 10]);
  });

  test("profiles recur for followed companies only, as those of accounts come with them", () => {
    const inputs = [{ input: "acme.com", companyId: "c_9", resolvedAt: NOW }];
    const followed = { companies: ["acme.com", "new.com"] };
    const profiles = (options: Partial<DueOptions>) =>
      cyclesIn(aContext([], options, { inputs }), "companies").map(({ credits }) => credits);
    // One resolved, one still to be resolved.
    expect(profiles(followed)).toEqual([1, 1]);
    // With content, each profile takes a request of its own: c_1 and c_9, and new.com.
    expect(profiles({ ...followed, content: ["insights"] })).toEqual([1, 1, 1]);
  });
});

test("credits a day are those of each cycle by its length", () => {
  const cycle = { credits: 3, everyMs: 2 * DAY, nextAt: NOW };
  const days = creditsPerDay([
    { ...cycle, stream: "filings" },
    { ...cycle, stream: "filings", credits: 1, everyMs: DAY },
    { ...cycle, stream: "usage" },
  ]);
  expect([...days]).toEqual([
    ["filings", 2.5],
    ["usage", 1.5],
  ]);
});

test("what comes up before the end is added by day; what comes up at the end is not", () => {
  const added: unknown[] = [];
  const cycle = { stream: "filings", credits: 2, everyMs: DAY, nextAt: NOW + DAY / 2 } as const;
  creditsUntil([cycle], NOW, NOW + 2.5 * DAY, (...credit) => added.push(credit));
  expect(added).toEqual([
    ["filings", 0, 2],
    ["filings", 1, 2],
  ]);
});

test("the content of a new signal takes a request unless it is not wanted or the list returns it", () => {
  const details = (content: readonly string[], grants: readonly string[]) =>
    detailsPerSignal(
      aContext([], { content, shapes: new Map([["signals", { ...initialShape(10), grants: [...grants] }]]) }),
    );
  expect(details([], [])).toBe(0);
  expect(details(["fullContent"], [])).toBe(1);
  expect(details(["fullContent"], ["fullContent"])).toBe(0);
});
