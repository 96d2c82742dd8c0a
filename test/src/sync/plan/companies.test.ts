import { describe, expect, test } from "vitest";
import { streamSpec } from "../../../../src/catalog/streams.ts";
import { initialForm } from "../../../../src/sync/list/form.ts";
import {
  type AccountFact,
  type Context,
  type DueOptions,
  type MirrorView,
  stateKey,
} from "../../../../src/sync/plan/candidate.ts";
import {
  companyListReads,
  companyProfiles,
  embedsCompanies,
  inputsToResolve,
} from "../../../../src/sync/plan/companies.ts";
import { withoutStates } from "../../../../src/sync/plan/reset.ts";
import type { ScopeState } from "../../../../src/warehouse/record/checkpoint.ts";
import { contextOf, dueOptions, idleState } from "./planning-input.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 21);

const anAccount = (id: string, companyId: string | null, more: Partial<AccountFact> = {}): AccountFact => ({
  id,
  companyId,
  priority: 2,
  score: 50,
  changedAt: NOW - DAY,
  ...more,
});
const aState = (stream: ScopeState["stream"], scope: string, days: number, more: Partial<ScopeState> = {}) =>
  idleState({ stream, scope, at: NOW - days * DAY }, more);

const aContext = (
  { states = [], ...view }: Partial<Omit<MirrorView, "states">> & { readonly states?: readonly ScopeState[] },
  options: Partial<DueOptions> = {},
): Context => contextOf(NOW, states, options, view);
const input = (name: string, companyId: string | null, days: number) => ({
  input: name,
  companyId,
  resolvedAt: NOW - days * DAY,
});

describe("inputs to resolve", () => {
  const due = (view: Parameters<typeof aContext>[0], options: Partial<DueOptions> = {}) =>
    inputsToResolve(aContext(view, { companies: ["acme.com"], ...options })).map(({ because }) => because);

  test("a new one is due, a resolved one is not; what the mirror knows and nobody follows is left alone", () => {
    expect(due({})).toEqual(["followed, not yet resolved"]);
    expect(due({ inputs: [input("acme.com", "c_1", 900)] })).toEqual([]);
    expect(due({ inputs: [input("other.com", null, 900)] }, { companies: [] })).toEqual([]);
  });

  test("one unknown to the service is asked for again after a week, or by --full", () => {
    const unknown = (days: number) => ({ inputs: [input("acme.com", null, days)] });
    expect(due(unknown(6))).toEqual([]);
    expect(due(unknown(6), { full: true })).toEqual(["--full"]);
    expect(due(unknown(8))).toEqual(["unknown to the service, asked again weekly"]);
  });

  test("--full asks for a resolved one again, and a sync that continues with --full does not ask twice", () => {
    const resolved = { inputs: [input("acme.com", "c_1", 5)], companies: new Set(["c_1"]) };
    const again = ["--full: the input may name another company now"];
    expect(due(resolved, { full: true })).toEqual(again);
    expect(due(resolved, { full: true, fullSince: NOW - 4 * DAY })).toEqual(again);
    expect(due(resolved, { full: true, fullSince: NOW - 6 * DAY })).toEqual([]);
  });

  test("--reset asks for a resolved one again", () => {
    const context = aContext({
      inputs: [input("acme.com", "c_1", 5)],
      states: [aState("companies", "input:acme.com", 5)],
    });
    const reset = (stream: "companies" | "filings", scope: string | null, syncId: string | null = null) =>
      inputsToResolve({
        options: dueOptions({ companies: ["acme.com"] }),
        view: withoutStates(context.view, [{ stream, scope }], syncId),
      }).map(({ because }) => because);
    const again = ["--reset: the input may name another company now"];
    expect(reset("companies", null)).toEqual(again);
    expect(reset("companies", "input:acme.com")).toEqual(again);
    expect([reset("companies", "input:other.com"), reset("filings", null)]).toEqual([[], []]);
    // An earlier run of the same sync has asked.
    expect(reset("companies", null, "r")).toEqual([]);
  });

  test("one whose company's profile, read since, came back as another company is resolved anew", () => {
    const states = [aState("companies", "c_1", 1)];
    const inputs = [input("acme.com", "c_1", 5)];
    expect(due({ inputs, states, companies: new Set(["c_2"]) })).toEqual(["its company has another id now"]);
    expect(due({ inputs, states, companies: new Set(["c_1"]) })).toEqual([]);
    // Not read since.
    expect(due({ inputs, states: [aState("companies", "c_1", 9)], companies: new Set(["c_2"]) })).toEqual([]);
  });
});

describe("profiles", () => {
  const accounts = [anAccount("1", "c_1")];
  const companies = new Set(["c_1"]);
  const due = (view: Parameters<typeof aContext>[0], options: Partial<DueOptions> = {}) =>
    companyProfiles(aContext(view, options)).map(({ scope, because }) => [scope, because]);

  test("one that its account should have brought and did not, and one of a resolved input, are read", () => {
    expect(due({ accounts })).toEqual([["c_1", "not embedded in its account"]]);
    // Resolving an input returns the profile, so it is as old as that.
    const resolved = { inputs: [input("acme.com", "c_9", 31)] };
    expect(due(resolved, { companies: ["acme.com"] })).toEqual([["c_9", "older than 30 days"]]);
    expect(due({ inputs: [input("acme.com", "c_9", 29)] }, { companies: ["acme.com"] })).toEqual([]);
  });

  test("one that was both resolved and read by id is as old as the later of the two", () => {
    const read = (resolvedDays: number, readDays: number) =>
      due(
        {
          inputs: [input("acme.com", "c_9", resolvedDays)],
          states: [aState("companies", "c_9", readDays)],
          companies: new Set(["c_9"]),
        },
        { companies: ["acme.com"] },
      );
    expect([read(31, 1), read(1, 31)]).toEqual([[], []]);
    expect(read(31, 32)).toEqual([["c_9", "older than 30 days"]]);
  });

  test("one that comes with its account is as fresh as the account, unless its content is wanted", () => {
    expect(due({ accounts, companies })).toEqual([]);
    expect(due({ accounts, companies }, { content: ["insights"] })).toEqual([["c_1", "content not yet fetched"]]);
  });

  test("if this run reads no accounts, its age is that of their last complete walk", () => {
    const states = (days: number) => [aState("accounts", "", days)];
    const without = { streams: ["companies"] } as const;
    expect(due({ accounts, companies, states: states(31) }, without)).toEqual([["c_1", "older than 30 days"]]);
    expect(due({ accounts, companies, states: states(29) }, without)).toEqual([]);
    expect(due({ accounts, companies }, without)).toEqual([]);
  });

  test("of a service that embeds no company, each profile is read by id and gets old", () => {
    const shapes = new Map([["accounts" as const, { ...initialForm(100), lacks: ["company"] }]]);
    expect(embedsCompanies(shapes.get("accounts"))).toBe(false);
    expect(embedsCompanies(undefined)).toBe(true);
    const states = [aState("companies", "c_1", 31), aState("accounts", "", 0)];
    expect(due({ accounts, companies, states }, { shapes })).toEqual([["c_1", "older than 30 days"]]);
  });

  test("one profile shows whether companies came whole, also where the service brings none along any more", () => {
    const both = { accounts: [...accounts, anAccount("2", "c_2")], companies: new Set(["c_1", "c_2"]) };
    const shapes = new Map([["accounts" as const, { ...initialForm(100), lacks: ["company"] }]]);
    const compared = [["c_1", "shows whether accounts bring it whole"]];
    expect(due({ ...both, unfilled: ["industry"] })).toEqual(compared);
    expect(due({ ...both, unfilled: ["industry"] }, { shapes })).toEqual(compared);
    expect(due({ ...both, unfilled: [] })).toEqual([]);
  });
});

describe("lists of a company", () => {
  const news = streamSpec("news_articles");
  const due = (states: readonly ScopeState[], options: Partial<DueOptions> = {}, more: Partial<MirrorView> = {}) =>
    companyListReads(aContext({ ...more, states, accounts: [anAccount("1", "c_1")] }, options), news).map(
      ({ mode, because, overlap, requests }) => ({ mode, because, overlap, requests }),
    );
  const state = (days: number, more: Partial<ScopeState> = {}) => [aState("news_articles", "c_1", days, more)];

  test("one that was never read to its end is walked, an interrupted one resumed, each without pages that overlap", () => {
    expect(due([])).toEqual([{ mode: "walk", because: "never synced", overlap: false, requests: 1 }]);
    expect(due(state(0, { status: "walking" }))).toMatchObject([
      { mode: "walk", because: "resumes where it was interrupted", overlap: false },
    ]);
    expect(due(state(0, { walkedAt: null }))).toMatchObject([{ mode: "walk", because: "no complete walk yet" }]);
  });

  test("one that nothing counts proves no more by another walk, so it is read again by age only", () => {
    const uncounted = (days: number, rows: number) =>
      state(days, { walkedAt: null, totalCount: null, unconfirmed: { rows, because: "nothing counts" } });
    expect(due(uncounted(6, 0))).toEqual([]);
    expect(due(uncounted(8, 0))).toMatchObject([{ mode: "walk", because: "older than 7 days", overlap: true }]);
    expect(due(uncounted(6, 1))).toMatchObject([{ because: "no complete walk yet" }]);
  });

  test("one that is old is looked at for one credit, and walked with overlapping pages at four times its age", () => {
    expect(due(state(6))).toEqual([]);
    const old = { mode: "known", because: "older than 7 days", overlap: false, requests: 1 };
    expect(due(state(8, { totalCount: 250 }))).toEqual([old]);
    expect(due(state(29, { totalCount: 250 }))).toEqual([
      { mode: "walk", because: "reconciled more than 28 days ago", overlap: true, requests: 3 },
    ]);
    // A budget may stretch the time between walks.
    const budgets = { walks: { perDay: null, perPeriod: null, minIntervalMs: 60 * DAY } };
    expect(due(state(29, { totalCount: 250 }), { budgets })).toEqual([old]);
  });

  test("a signal that announces news makes the list due at any age", () => {
    const hints = new Map([[stateKey("news_articles", "c_1"), { count: 1, type: "relevant-news" }]]);
    expect(due(state(0), {}, { hints })).toMatchObject([
      { mode: "known", because: "hinted by 1 new relevant-news signal" },
    ]);
  });

  test("--full walks what was not walked since it began", () => {
    expect(due(state(1), { full: true })).toMatchObject([{ mode: "walk", because: "--full", overlap: true }]);
    expect(due(state(1), { full: true, fullSince: NOW - 2 * DAY })).toEqual([]);
  });

  test("the company of the most valuable account comes first, and counts once however many accounts name it", () => {
    const accounts = [
      anAccount("1", "c_1", { priority: 3 }),
      anAccount("2", "c_2", { priority: 1 }),
      anAccount("3", "c_1", { priority: 2 }),
      anAccount("4", null),
    ];
    const inputs = [input("acme.com", "c_2", 1), input("new.com", "c_9", 1), input("gone.com", "c_8", 1)];
    const found = companyListReads(aContext({ accounts, inputs }, { companies: ["acme.com", "new.com"] }), news);
    expect(found.map(({ scope }) => scope)).toEqual(["c_2", "c_1", "c_9"]);
  });
});
