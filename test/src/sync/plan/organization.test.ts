// What is due in a sync: how an organization's list is read next, a walk or its changes, and why; insights, content, readings of
// figures; and the order of all of it.
import { describe, expect, test } from "vitest";
import { type StreamName, streamSpec } from "../../../../src/catalog/streams.ts";
import { initialForm, type ListForm } from "../../../../src/sync/list/form.ts";
import type { DueOptions, MirrorView } from "../../../../src/sync/plan/candidate.ts";
import { dueCandidates } from "../../../../src/sync/plan/due.ts";
import {
  capture,
  insights,
  organizationList,
  signalContent,
  unreadContent,
} from "../../../../src/sync/plan/organization.ts";
import type { ScopeState } from "../../../../src/warehouse/record/checkpoint.ts";
import { contextOf, dueOptions, idleState, viewOf } from "./planning-input.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 21);
const contacts = streamSpec("contacts");
const aShape = (more: Partial<ListForm>): ListForm => ({ ...initialForm(100), settled: true, ...more });

const listedAs = (
  state: Partial<ScopeState> | null,
  shape: Partial<ListForm> = {},
  options: Partial<DueOptions> = {},
) => {
  const states = state === null ? [] : [idleState({ stream: "contacts", scope: "", at: NOW - DAY }, state)];
  const shapes = new Map([["contacts", aShape(shape)]] as const);
  return organizationList(contextOf(NOW, states, { shapes, ...options }), contacts)[0];
};

describe("a list of the organization", () => {
  test.each([
    ["was never read", null, "never synced"],
    ["was interrupted", { status: "walking" }, "resumes where it was interrupted"],
    ["has no complete walk", { walkedAt: null }, "no complete walk yet"],
  ] as const)("that %s is walked, before anything else", (_, state, because) => {
    expect(listedAs(state)).toMatchObject({ mode: "walk", because, overlap: false });
    expect(listedAs(state)?.worth).toBeGreaterThan(listedAs({})?.worth ?? Infinity);
  });

  test("that the service sorts by change is read until nothing is new, for one request", () => {
    expect(listedAs({})).toMatchObject({ mode: "watermark", requests: 1, because: "changes since the last sync" });
  });

  test("that it does not sort is read by the filter, and walked where that is refused, too", () => {
    expect(listedAs({ totalCount: 250 }, { changeOrder: false })).toMatchObject({ mode: "filter", requests: 2 });
    // Nothing is counted; a page that holds the whole list needs no filter.
    expect(listedAs({ totalCount: null }, { changeOrder: false })).toMatchObject({ mode: "filter", requests: 1 });
    expect(listedAs({}, { changeOrder: false })).toMatchObject({ mode: "walk", requests: 1 });
    expect(listedAs({}, { changeOrder: false, changeFilter: false })).toMatchObject({
      mode: "walk",
      because: `the service does not sort by ${contacts.watermark}`,
    });
  });

  test("is reconciled after its time, by pages that share rows", () => {
    const old = { walkedAt: NOW - 7 * DAY - 1, totalCount: 250 };
    expect(listedAs(old)).toMatchObject({ mode: "walk", overlap: true, because: "reconciled more than 7 days ago" });
    expect(listedAs({ walkedAt: NOW - 7 * DAY })).toMatchObject({ mode: "watermark" });
    expect(listedAs(old)?.requests).toBeGreaterThanOrEqual(3);
  });

  test("with --full is walked unless that has happened in this sync", () => {
    expect(listedAs({}, {}, { full: true })).toMatchObject({ mode: "walk", because: "--full", overlap: true });
    expect(listedAs({}, {}, { full: true, fullSince: NOW - 2 * DAY })).toMatchObject({ mode: "watermark" });
  });
});

test("content that the list returns on request, and that some rows were read without, asks for a walk", () => {
  const signals = streamSpec("signals");
  const unread = (shape: Partial<ListForm>, content: readonly string[]) =>
    unreadContent({ options: dueOptions({ shapes: new Map([["signals", aShape(shape)]]), content }) }, signals);
  expect(unread({ grants: ["fullContent"] }, ["signals.fullContent"])).toBe(true);
  expect(unread({ grants: ["fullContent"], walkedWith: ["fullContent"] }, ["signals.fullContent"])).toBe(false);
  expect(unread({}, ["signals.fullContent"])).toBe(false);
  expect(unread({ grants: ["fullContent"] }, [])).toBe(false);
});

test("a reading of figures is due by age, or because it is named on the command line", () => {
  const counts = streamSpec("signal_counts");
  const reading = (at: number | null, named: boolean) => {
    const states = at === null ? [] : [idleState({ stream: "signal_counts", scope: "", at })];
    return capture(contextOf(NOW, states, { named }), counts, "", "capture").map(({ because }) => because);
  };
  expect(reading(null, false)).toEqual(["never synced"]);
  expect(reading(NOW, false)).toEqual([]);
  expect(reading(NOW, true)).toEqual(["named on the command line"]);
  expect(reading(NOW - counts.maxAgeMs - 1, true)).toEqual([expect.stringMatching(/^older than /)]);
});

const anAccount = (id: string, changedAt: number) => ({ id, companyId: `c${id}`, priority: 1, score: 50, changedAt });
const withView = (more: Partial<MirrorView>, states: readonly ScopeState[], options: Partial<DueOptions> = {}) =>
  contextOf(NOW, states, options, more);

test("an insight is read if it never was, if its account changed since, or by age", () => {
  const aged = streamSpec("account_insights").maxAgeMs;
  const states = [
    idleState({ stream: "account_insights", scope: "same", at: NOW - DAY }),
    idleState({ stream: "account_insights", scope: "changed", at: NOW - DAY }),
    idleState({ stream: "account_insights", scope: "old", at: NOW - aged - 1 }),
  ];
  const accounts = [
    anAccount("new", 0),
    anAccount("same", NOW - DAY),
    anAccount("changed", NOW - DAY + 1),
    anAccount("old", 0),
  ];
  const due = insights(withView({ accounts }, states));
  expect(due.map(({ scope, because }) => [scope, because])).toEqual([
    ["new", "never synced"],
    ["changed", "the account changed"],
    ["old", expect.stringMatching(/^older than /)],
  ]);
});

test("an insight whose account's version is known is due for another version, earlier or later, unless its content is the same", () => {
  const state = (scope: string) =>
    idleState({ stream: "account_insights", scope, at: NOW - DAY }, { watermark: NOW + 30 * DAY });
  const accounts = [
    anAccount("ahead", NOW + 30 * DAY),
    anAccount("later", NOW + 31 * DAY),
    anAccount("earlier", NOW - DAY),
    anAccount("sameContent", NOW),
  ];
  const due = insights(
    withView(
      { accounts, sameAccounts: new Set(["sameContent"]) },
      accounts.map(({ id }) => state(id)),
    ),
  );
  expect(due.map(({ scope, version }) => [scope, version])).toEqual([
    ["later", NOW + 31 * DAY],
    ["earlier", NOW - DAY],
  ]);
});

test("full content is read signal by signal only where the list does not return it", () => {
  const signalsWithoutContent = [{ id: "s", accountId: "a", updatedAt: 7 }];
  const content = (shape: Partial<ListForm>, names: readonly string[] = ["signals.fullContent"]) =>
    signalContent(
      withView({ signalsWithoutContent }, [], { shapes: new Map([["signals", aShape(shape)]]), content: names }),
    );
  expect(content({ lacks: ["fullContent"] })).toMatchObject([{ mode: "detail", scope: "detail:s", version: 7 }]);
  expect(content({ content: false })).toHaveLength(1);
  expect(content({ grants: ["fullContent"] })).toEqual([]);
  expect(content({ lacks: ["fullContent"] }, [])).toEqual([]);
});

const aState = (stream: StreamName, scope: string, more: Partial<ScopeState> = {}): ScopeState =>
  idleState({ stream, scope, at: NOW - 3_600_000 }, { watermark: NOW - DAY, totalCount: 10, rowsAtWalk: 10, ...more });

const aView = (states: readonly ScopeState[], more: Partial<MirrorView> = {}): MirrorView =>
  viewOf(NOW, states, {
    accounts: [
      { id: "1", companyId: "c_1", priority: 3, score: 10, changedAt: NOW - DAY },
      { id: "2", companyId: "c_2", priority: 1, score: 90, changedAt: NOW - DAY },
    ],
    companies: new Set(["c_1", "c_2"]),
    ...more,
  });

const OPTIONS = dueOptions();

const complete = (): ScopeState[] => [
  ...(["accounts", "contacts", "signals", "signal_counts"] as const).map((stream) => aState(stream, "")),
  ...(["news_articles", "job_openings", "earnings_calls", "filings"] as const).flatMap((stream) => [
    aState(stream, "c_1"),
    aState(stream, "c_2"),
  ]),
  aState("account_insights", "1"),
  aState("account_insights", "2"),
  ...["usage", "limits", "requests"].map((scope) => aState("usage", scope)),
];

test("what was never synced comes most valuable first: lists, then companies of the best accounts", () => {
  const due = dueCandidates(aView([]), OPTIONS);
  expect(due.slice(0, 3).map(({ stream }) => stream)).toEqual(["accounts", "contacts", "signals"]);
  const news = due.filter(({ stream }) => stream === "news_articles").map(({ scope }) => scope);
  expect(news).toEqual(["c_2", "c_1"]);
  expect(due.at(-1)?.stream).toBe("usage");
});

test("rows that are missing come before another look at lists just looked at", () => {
  const interrupted = [
    ...complete().filter(({ stream }) => stream !== "signals" && stream !== "account_insights"),
    aState("signals", "", { status: "walking", walkedAt: null }),
  ];
  const due = dueCandidates(aView(interrupted), OPTIONS);
  expect(due.map(({ stream }) => stream)).toEqual([
    "signals",
    "account_insights",
    "account_insights",
    "accounts",
    "contacts",
  ]);
  const dayOld = interrupted.map((state) => ({ ...state, checkedAt: NOW - DAY }));
  const later = dueCandidates(aView(dayOld), OPTIONS).map(({ stream }) => stream);
  expect(later.slice(0, 3)).toEqual(["signals", "accounts", "contacts"]);
});

test.each([
  [100, 29.9, false],
  [100, 30.1, true],
  [1000, 2.9, false],
  [1000, 3.1, true],
  [10_000, 1.1, true],
  [null, 1.1, true],
])("with %s credits a period a reading of the usage is due after %s days: %s", (creditLimit, days, isDue) => {
  const read = complete().map((state) => ({ ...state, checkedAt: state.stream === "usage" ? NOW - days * DAY : NOW }));
  const due = dueCandidates(aView(read, { creditLimit }), OPTIONS).filter(({ stream }) => stream === "usage");
  expect(due.map(({ scope }) => scope)).toEqual(isDue ? ["limits", "requests", "usage"] : []);
  const configured = dueCandidates(aView(read, { creditLimit }), { ...OPTIONS, maxAgeMs: { usage: DAY } });
  expect(configured.some(({ stream }) => stream === "usage")).toBe(true);
});
