// What changes a row, and what makes an insight due, is decided by content and versions, not by our clock. Shows P24.
import { expect, test } from "vitest";
import { anAccount, aSignal } from "../../support/fake-data.ts";
import { createFakeService, emptyData } from "../../support/fake-service.ts";
import { simulatedClock, startSyncRig } from "../../support/sync-rig.ts";

const DAY = 86_400_000;

const start = async (streams = "accounts,signals,account_insights") => {
  const data = emptyData();
  for (let id = 1; id <= 6; id++) data.accounts.push(anAccount(id));
  for (let id = 1; id <= 4; id++) data.signals.push(aSignal(id));
  const service = createFakeService(data);
  const own = simulatedClock();
  let ahead = 0;
  const clock = { ...own, now: () => own.now() + ahead };
  const rig = await startSyncRig(service, { DUCKMIRROR_STREAMS: streams }, clock);
  const insightsRead = async () => {
    const before = service.log.length;
    const { error } = await rig.sync();
    expect(error).toBeNull();
    return service.log.slice(before).filter(({ path }) => path === "/v1/account-insights").length;
  };
  const change = (at: string) => {
    for (const account of service.data.accounts) Object.assign(account, { name: `Name ${at}`, updatedAt: at });
  };
  const setAhead = (ms: number) => {
    ahead = ms;
  };
  return { service, rig, own, insightsRead, change, setAhead };
};

/** Versions of a key that overlap, or end before they begin. */
const OVERLAPS = `WITH versions AS (
    SELECT id, valid_from, valid_to FROM history.accounts UNION ALL SELECT id, _synced_at, 'infinity'::TIMESTAMPTZ FROM accounts
  ), following AS (SELECT *, lead(valid_from) OVER (PARTITION BY id ORDER BY valid_from, valid_to) AS next FROM versions)
  SELECT count(*)::INTEGER AS n FROM following WHERE valid_to > next OR valid_to < valid_from`;

test("after the clock was ahead once, no insight is paid for again, and no two versions are valid at once", async () => {
  const { rig, insightsRead, change, setAhead } = await start();
  expect(await insightsRead()).toBe(6);
  setAhead(30 * DAY);
  change("2026-11-22T00:00:00Z");
  expect(await insightsRead()).toBe(6);
  setAhead(0);
  expect([await insightsRead(), await insightsRead()]).toEqual([0, 0]);
  change("2026-11-23T00:00:00Z");
  expect(await insightsRead()).toBe(6);
  expect(await insightsRead()).toBe(0);
  expect(await rig.rows(OVERLAPS)).toEqual([{ n: 0 }]);
  expect(await rig.rows("SELECT count(*)::INTEGER AS n FROM history.accounts")).toEqual([{ n: 12 }]);
});

test("an account that was deleted while the clock was ahead and comes back begins when its last version has ended", async () => {
  const { service, rig, setAhead } = await start();
  await rig.sync();
  const [gone] = service.data.accounts.splice(0, 1);
  setAhead(30 * DAY);
  await rig.sync({ full: true });
  setAhead(0);
  if (gone !== undefined) service.data.accounts.push(gone);
  await rig.sync({ full: true });
  expect(await rig.rows("SELECT count(*)::INTEGER AS n FROM accounts")).toEqual([{ n: 6 }]);
  expect(await rig.rows(OVERLAPS)).toEqual([{ n: 0 }]);
});

test("signals that came while the clock was ahead hint at a company's news once, not in each sync until it has caught up", async () => {
  const { service, rig, own, setAhead } = await start("accounts,signals,news_articles");
  for (const { companyId } of service.data.accounts) service.data.lists[String(companyId)] = { "news-articles": [] };
  const newsRead = async (request = {}) => {
    const before = service.log.length;
    expect((await rig.sync(request)).error).toBeNull();
    return service.log.slice(before).filter(({ path }) => path.endsWith("/news-articles")).length;
  };
  const arrive = (id: number) => {
    const at = new Date(own.now() - 60_000).toISOString();
    service.data.signals.push(aSignal(id, { accountId: 2, createdAt: at, updatedAt: at }));
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
  const { service, insightsRead, rig } = await start();
  expect(await insightsRead()).toBe(6);
  for (const account of service.data.accounts)
    Object.assign(account, { mood: "good", updatedAt: "2026-11-22T00:00:00Z" });
  // updatedAt is a documented field, and differs.
  expect(await insightsRead()).toBe(6);
  for (const account of service.data.accounts) Object.assign(account, { mood: "bad", tone: 1 });
  await rig.sync({ full: true });
  expect(await rig.rows("SELECT count(*)::INTEGER AS n FROM accounts WHERE _extra->>'mood' = 'bad'")).toEqual([
    { n: 6 },
  ]);
  expect(await insightsRead()).toBe(0);
});

test("an unknown field that is null in one answer and absent in the next rewrites no row", async () => {
  const { service, rig } = await start();
  await rig.sync();
  const updated: unknown[] = [];
  for (const added of [{ mood: null }, {}, { mood: null }]) {
    for (const signal of service.data.signals) {
      delete signal.mood;
      Object.assign(signal, added);
    }
    const { report } = await rig.sync({ full: true });
    updated.push(report.streams.map(({ updated: rows }) => rows));
  }
  expect(updated).toEqual([
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
  ]);
});
