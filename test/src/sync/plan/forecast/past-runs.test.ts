// Rates of earlier syncs: how much work followed from the changes that they found, per day.
import { expect, test } from "vitest";
import {
  daysSinceRead,
  expectedFollowUps,
  NO_RATES,
  type PastRun,
  ratesOf,
} from "../../../../../src/sync/plan/forecast/past-runs.ts";
import { idleState, viewOf } from "../planning-input.ts";

const DAY = 86_400_000;
const aRun = (more: Partial<Record<"days" | "due" | "spent" | "changed", Record<string, number>>> = {}): PastRun => ({
  atLeast: false,
  days: new Map(Object.entries(more.days ?? { signals: 1, accounts: 1 })),
  due: new Map(Object.entries(more.due ?? {})),
  spent: new Map(Object.entries(more.spent ?? {})),
  changed: new Map(Object.entries(more.changed ?? {})),
});

test("credits beyond the due work, per day since the list that caused them was read", () => {
  const runs = [
    aRun({ days: { signals: 1 }, due: { filings: 2 }, spent: { filings: 5 }, changed: { filings: 8 } }),
    aRun({ days: { signals: 3 }, spent: { filings: 1 } }),
  ];
  const rates = ratesOf(runs, ["filings"]);
  expect(rates.followUpsPerDay.get("filings")).toBe(1);
  expect(rates.changesPerDay.get("filings")).toBe(2);
  expect(expectedFollowUps(rates, "filings", new Map([["signals", 2]]))).toBe(2);
  expect(expectedFollowUps(rates, "filings", new Map())).toBe(0);
});

test("a company's list follows from signals, an insight from its account, an organization's list from itself", () => {
  const runs = [
    aRun({ days: { signals: 1, accounts: 2, contacts: 4 }, spent: { filings: 4, account_insights: 4, contacts: 4 } }),
  ];
  const { followUpsPerDay } = ratesOf(runs, ["filings", "account_insights", "contacts"]);
  expect([...followUpsPerDay.values()]).toEqual([4, 2, 1]);
});

test("hourly syncs that each paid for a search of gone rows announce the same for the next one", () => {
  const hourly = aRun({ days: { signals: 1 / 24 }, due: { signals: 1 }, spent: { signals: 11 } });
  const rates = ratesOf([hourly, hourly], ["signals"]);
  expect(expectedFollowUps(rates, "signals", new Map([["signals", 1 / 24]]))).toBeCloseTo(10);
});

test("less work than was due is no rate below zero, and readings of figures have none", () => {
  const { followUpsPerDay } = ratesOf([aRun({ due: { filings: 9 } })], ["filings", "signal_counts"]);
  expect([...followUpsPerDay]).toEqual([["filings", 0]]);
});

test("syncs within an hour say as little as one an hour apart, and a forecast of unknown length says nothing", () => {
  const minute = aRun({ days: { signals: 1 / 1440 }, spent: { filings: 1 } });
  expect(ratesOf([minute], ["filings"]).followUpsPerDay.get("filings")).toBeCloseTo(24);
  expect(ratesOf([{ ...minute, atLeast: true }], ["filings"])).toEqual(NO_RATES);
  expect(ratesOf([aRun({ days: {} })], ["filings"])).toEqual(NO_RATES);
});

test("days are counted since each organization list was read; the usage by its request history", () => {
  const now = 10 * DAY;
  const states = [
    idleState({ stream: "signals", scope: "", at: 8 * DAY }),
    idleState({ stream: "usage", scope: "usage", at: 9 * DAY }),
    idleState({ stream: "contacts", scope: "", at: now }, { checkedAt: null }),
    idleState({ stream: "filings", scope: "", at: now }),
  ];
  expect([...daysSinceRead(viewOf(now, states))]).toEqual([["signals", 2]]);
});
