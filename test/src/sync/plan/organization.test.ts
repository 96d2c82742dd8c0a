// How an organization's list is read next: a walk, or its changes, and why.
import { describe, expect, test } from "vitest";
import { streamSpec } from "../../../../src/catalog/streams.ts";
import { initialShape, type ListShape } from "../../../../src/sync/list/form.ts";
import type { DueOptions, MirrorView } from "../../../../src/sync/plan/candidate.ts";
import {
  capture,
  insights,
  organizationList,
  signalContent,
  unreadContent,
} from "../../../../src/sync/plan/organization.ts";
import type { ScopeState } from "../../../../src/warehouse/record/checkpoint.ts";
import { contextOf, dueOptions, idleState } from "./planning-input.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 21);
const contacts = streamSpec("contacts");
const aShape = (more: Partial<ListShape>): ListShape => ({ ...initialShape(100), settled: true, ...more });

const listedAs = (
  state: Partial<ScopeState> | null,
  shape: Partial<ListShape> = {},
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
  const unread = (shape: Partial<ListShape>, content: readonly string[]) =>
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
  const content = (shape: Partial<ListShape>, names: readonly string[] = ["signals.fullContent"]) =>
    signalContent(
      withView({ signalsWithoutContent }, [], { shapes: new Map([["signals", aShape(shape)]]), content: names }),
    );
  expect(content({ lacks: ["fullContent"] })).toMatchObject([{ mode: "detail", scope: "detail:s", version: 7 }]);
  expect(content({ content: false })).toHaveLength(1);
  expect(content({ grants: ["fullContent"] })).toEqual([]);
  expect(content({ lacks: ["fullContent"] }, [])).toEqual([]);
});
