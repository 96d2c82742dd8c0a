// Clocks and times: what changes a row, and what makes an insight due, is decided by content and versions, not by our clock; times
// without a zone are UTC, wherever the program runs. Shows P24.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aCompany, anAccount, aSignal } from "../../support/fake-data.ts";
import { createFakeService, emptyData } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";
import { simulatedClock, startSyncRig } from "../../support/sync-rig.ts";

const DAY = 86_400_000;

const start = async (streams = "accounts,signals,account_insights") => {
  const data = emptyData();
  for (let id = 1; id <= 6; id++) data.accounts.push(anAccount(id));
  for (let id = 1; id <= 4; id++) data.signals.push(aSignal(id));
  const own = simulatedClock();
  let ahead = 0;
  const clock = { ...own, now: () => own.now() + ahead };
  const { sync, rows } = await startSyncRig(createFakeService(data), { DUCKMIRROR_STREAMS: streams }, clock);
  /** A sync, and how many requests it sent to a route. */
  const asked = async (route: string, request = {}) => {
    const { error, sent } = await sync(request);
    expect(error).toBeNull();
    return sent.filter(({ path }) => path.endsWith(route)).length;
  };
  const change = (more: Record<string, unknown>) => {
    for (const account of data.accounts) Object.assign(account, more);
  };
  const setAhead = (ms: number) => {
    ahead = ms;
  };
  const insightsRead = () => asked("/account-insights");
  return { data, sync, rows, own, asked, insightsRead, change, setAhead };
};
const version = (day: number) => ({ name: `Name ${day}`, updatedAt: `2026-11-${day}T00:00:00Z` });

/** Versions of a key that overlap, or end before they begin. */
const OVERLAPS = `WITH versions AS (
    SELECT id, valid_from, valid_to FROM history.accounts UNION ALL SELECT id, _synced_at, 'infinity'::TIMESTAMPTZ FROM accounts
  ), following AS (SELECT *, lead(valid_from) OVER (PARTITION BY id ORDER BY valid_from, valid_to) AS next FROM versions)
  SELECT count(*)::INTEGER AS n FROM following WHERE valid_to > next OR valid_to < valid_from`;

test("after the clock was ahead once, no insight is paid for again, and no two versions are valid at once", async () => {
  const { rows, insightsRead, change, setAhead } = await start();
  expect(await insightsRead()).toBe(6);
  setAhead(30 * DAY);
  change(version(22));
  expect(await insightsRead()).toBe(6);
  setAhead(0);
  expect([await insightsRead(), await insightsRead()]).toEqual([0, 0]);
  change(version(23));
  expect([await insightsRead(), await insightsRead()]).toEqual([6, 0]);
  expect(await rows(OVERLAPS)).toEqual([{ n: 0 }]);
  expect(await rows("SELECT count(*)::INTEGER AS n FROM history.accounts")).toEqual([{ n: 12 }]);
});

test("an account that was deleted while the clock was ahead and comes back begins when its last version has ended", async () => {
  const { data, sync, rows, setAhead } = await start();
  await sync();
  const gone = data.accounts.splice(0, 1);
  setAhead(30 * DAY);
  await sync({ full: true });
  setAhead(0);
  data.accounts.push(...gone);
  await sync({ full: true });
  expect(await rows("SELECT count(*)::INTEGER AS n FROM accounts")).toEqual([{ n: 6 }]);
  expect(await rows(OVERLAPS)).toEqual([{ n: 0 }]);
});

test("signals that came while the clock was ahead hint at a company's news once, not in each sync until it has caught up", async () => {
  const { data, asked, own, setAhead } = await start("accounts,signals,news_articles");
  for (const { companyId } of data.accounts) data.lists[String(companyId)] = { "news-articles": [] };
  const newsRead = (request = {}) => asked("/news-articles", request);
  const arrive = (id: number) => {
    const at = new Date(own.now() - 60_000).toISOString();
    data.signals.push(aSignal(id, { accountId: 2, createdAt: at, updatedAt: at }));
  };
  expect(await newsRead()).toBe(6);
  setAhead(30 * DAY);
  arrive(901);
  await newsRead();
  setAhead(0);
  expect(await newsRead({ full: true })).toBe(6);
  expect([await newsRead(), await newsRead()]).toEqual([0, 0]);
  await own.sleep(DAY);
  arrive(902);
  expect([await newsRead(), await newsRead()]).toEqual([1, 0]);
});

test("a field that the service adds to accounts, filled or null, makes no insight due", async () => {
  const { insightsRead, sync, rows, change } = await start();
  expect(await insightsRead()).toBe(6);
  change({ mood: "good", updatedAt: "2026-11-22T00:00:00Z" });
  // updatedAt is a documented field, and differs.
  expect(await insightsRead()).toBe(6);
  change({ mood: "bad", tone: 1 });
  await sync({ full: true });
  const bad = "SELECT count(*)::INTEGER AS n FROM accounts WHERE _extra->>'mood' = 'bad'";
  expect(await rows(bad)).toEqual([{ n: 6 }]);
  expect(await insightsRead()).toBe(0);
});

test("an unknown field that is null in one answer and absent in the next rewrites no row", async () => {
  const { data, sync } = await start();
  await sync();
  for (const added of [{ mood: null }, {}, { mood: null }]) {
    for (const signal of data.signals) {
      delete signal.mood;
      Object.assign(signal, added);
    }
    const { report } = await sync({ full: true });
    expect(report.streams.map(({ updated }) => updated)).toEqual([0, 0, 0]);
  }
});

const own = process.env.TZ;
afterEach(() => {
  if (own === undefined) delete process.env.TZ;
  else process.env.TZ = own;
});

/** A mirror of signals whose times are written as `form` says; `asked`: how many signals one more sync asks for by id. */
const mirrored = async (form: (day: number) => string) => {
  const data = emptyData();
  data.accounts.push(anAccount(1));
  data.companies.push(aCompany("c_1"));
  for (let id = 1; id <= 12; id++) {
    const at = form(id);
    data.signals.push(aSignal(id, { date: at, createdAt: at, updatedAt: at, fullContent: `Text ${id}` }));
  }
  const env = { DUCKMIRROR_CONTENT: "fullContent", DUCKMIRROR_STREAMS: "accounts,signals" };
  const rig = await startMemoryRig(createFakeService(data), env);
  await rig.sync();
  const asked = async () => (await rig.sync()).sent.filter(({ path }) => path.startsWith("/v1/signals/")).length;
  return { ...rig, data, asked };
};

const two = (day: number) => String(day).padStart(2, "0");
/** Every form at once, one after the other. */
const forms: readonly ((day: number) => string)[] = [
  (day) => `2026-03-${two(day)}T01:30:00`,
  (day) => `2026-03-${two(day)} 01:30:00.250`,
  (day) => `2026-03-${two(day)}T01:30:00.123456`,
  (day) => `2026-03-${two(day)}T01:30:00.123456789Z`,
  (day) => `2026-03-${two(day)}`,
  () => "2026-03",
  (day) => `2026-03-${two(day)}T01:30:00+05:30`,
  (day) => `${day} March 2026`,
];
const anyForm = (day: number) => forms[day % forms.length]?.(day) ?? "";

// The night of 8 March 2026 has no 02:30 in New York.
describe.each(["America/New_York", "Asia/Kolkata", "UTC"])("on a machine in %s", (zone) => {
  beforeEach(() => {
    process.env.TZ = zone;
    expect(new Date(2026, 0, 1).getTimezoneOffset()).toBe({ "America/New_York": 300, "Asia/Kolkata": -330 }[zone] ?? 0);
  });

  test.each([
    ["without a zone", forms[0] ?? anyForm],
    ["in every form", anyForm],
  ])("contents of signals with times %s are paid for once", async (_, form) => {
    const { rows, asked } = await mirrored(form);
    expect(rows("signals", "full_content").filter(({ full_content: text }) => text !== null)).toHaveLength(12);
    expect([await asked(), await asked()]).toEqual([0, 0]);
  });
});

test("a signal whose updatedAt is set back is paid for once more, not at every sync", async () => {
  const { data, sync, query, asked } = await mirrored((day) => `2026-03-${two(day)}T00:00:00Z`);
  Object.assign(data.signals[0] ?? {}, { updatedAt: "2025-01-01T00:00:00Z", headline: "Corrected" });
  await sync({ full: true });
  expect(await asked()).toBe(0);
  expect(await query("select headline from signals where id = 1")).toEqual([{ headline: "Corrected" }]);
});
