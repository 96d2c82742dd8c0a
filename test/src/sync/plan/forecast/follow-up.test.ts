import { describe, expect, test } from "vitest";
import { COMPANY_LISTS } from "../../../../../src/catalog/streams.ts";
import { initialShape } from "../../../../../src/sync/list/form.ts";
import type { AccountFact, Candidate, Context } from "../../../../../src/sync/plan/candidate.ts";
import {
  followUpsOf,
  readsProfiles,
  totalOf,
  unreadAccounts,
} from "../../../../../src/sync/plan/forecast/follow-up.ts";
import { NO_RATES } from "../../../../../src/sync/plan/forecast/past-runs.ts";
import type { ScopeState } from "../../../../../src/warehouse/record/checkpoint.ts";
import { contextOf, due, idleState } from "../planning-input.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 21);

const anAccount = (id: string, companyId: string | null): AccountFact => ({
  id,
  companyId,
  priority: null,
  score: null,
  changedAt: NOW,
});
const aContext = contextOf.bind(null, NOW);
/** Streams and expected credits, by reason. */
const following = (context: Context, candidates: readonly Candidate[], because: RegExp) =>
  Object.fromEntries(
    followUpsOf(context, candidates, NO_RATES)
      .filter((each) => because.test(each.because))
      .map(({ stream, requests }) => [stream, requests]),
  );
const perList = (requests: number) => Object.fromEntries(COMPANY_LISTS.map((list) => [list, requests]));
const accountsState = (more: Partial<ScopeState> = {}) =>
  idleState({ stream: "accounts", scope: "", at: NOW - DAY }, { totalCount: 40, ...more });

describe("accounts not read yet", () => {
  const NOT_READ = /^accounts not read/;

  test("bring an insight each, and the lists of their companies, if this sync reads accounts", () => {
    const context = aContext([accountsState({ walkedAt: null })]);
    expect(following(context, [due("accounts", "walk")], NOT_READ)).toEqual({ account_insights: 40, ...perList(40) });
    expect(following(context, [due("signals", "walk")], NOT_READ)).toEqual({});
  });

  test("share companies as those do that are mirrored already", () => {
    const accounts = [anAccount("1", "c_1"), anAccount("2", "c_1"), anAccount("3", "c_2"), anAccount("4", null)];
    const context = aContext([accountsState({ walkedAt: null })], {}, { accounts });
    expect(following(context, [due("accounts", "walk")], NOT_READ)).toEqual({ account_insights: 36, ...perList(18) });
  });

  test("bring a profile each where the service embeds none, or where content is wanted", () => {
    const lacking = { shapes: new Map([["accounts" as const, { ...initialShape(100), lacks: ["company"] }]]) };
    expect([{}, lacking, { content: ["insights"] }].map((options) => readsProfiles(aContext([], options)))).toEqual([
      false,
      true,
      true,
    ]);
    const context = aContext([accountsState({ walkedAt: null })], lacking);
    expect(following(context, [due("accounts", "walk")], NOT_READ)).toMatchObject({ companies: 40 });
  });

  test("are none once a walk read the list, unknown without a count, and by a check's count before the first sync", () => {
    expect(unreadAccounts(aContext([accountsState()]))).toBe(0);
    expect(unreadAccounts(aContext([]))).toBeNull();
    const checked = aContext([], { totals: new Map([["accounts", 7]]) });
    expect([totalOf(checked, "accounts"), unreadAccounts(checked)]).toEqual([7, 7]);
    // The list's own count is later than the check's.
    const both = aContext([accountsState({ walkedAt: null })], { totals: new Map([["accounts", 7]]) });
    expect(unreadAccounts(both)).toBe(40);
    expect(unreadAccounts(aContext([], { streams: ["signals"] }))).toBe(0);
  });
});

test("a new input brings the four lists of its company; one asked for again, which nobody knows, brings none", () => {
  const resolve = (input: string) => due("companies", "resolve", { scope: `input:${input}` });
  const inputs = [{ input: "unknown.com", companyId: null, resolvedAt: NOW - 9 * DAY }];
  const candidates = [resolve("new.com"), resolve("unknown.com")];
  expect(following(aContext([], {}, { inputs }), candidates, /^inputs not resolved/)).toEqual(perList(1));
  const fewer = aContext([], { streams: ["companies", "filings"] }, { inputs });
  expect(following(fewer, candidates, /^inputs not resolved/)).toEqual({ filings: 1 });
});

test("the first walk of signals asks for one page twice, until it is known which fields a plain request returns", () => {
  const TWICE = /^page a second time, /;
  expect(following(aContext([]), [due("signals", "walk")], TWICE)).toEqual({ signals: 1 });
  expect(following(aContext([]), [due("signals", "watermark")], TWICE)).toEqual({});
  const known = { shapes: new Map([["signals" as const, { ...initialShape(100), inDefault: ["sources"] }]]) };
  expect(following(aContext([], known), [due("signals", "walk")], TWICE)).toEqual({});
});

test("the request history, read last, counts the requests of this sync too, in pages of its own", () => {
  const OWN = /^requests of this sync$/;
  const history = due("usage", "log", { scope: "requests" });
  const many = due("filings", "known", { requests: 250 });
  const read = idleState({ stream: "usage", scope: "requests", at: NOW - DAY });
  expect(following(aContext([read]), [history, many], OWN)).toEqual({ usage: 2 });
  expect(following(aContext([read]), [history], OWN)).toEqual({});
  expect(following(aContext([read]), [many], OWN)).toEqual({});
  // Before its first read it holds the requests of the period so far.
  expect(following(aContext([], {}, { creditsUsed: 300 }), [history, many], OWN)).toEqual({ usage: 5 });
});
