import { expect, test } from "vitest";
import type { StreamName } from "../../../../src/catalog/streams.ts";
import type { MirrorView } from "../../../../src/sync/plan/candidate.ts";
import { dueCandidates } from "../../../../src/sync/plan/due.ts";
import type { ScopeState } from "../../../../src/warehouse/record/checkpoint.ts";
import { dueOptions, idleState, viewOf } from "./planning-input.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 21);

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
