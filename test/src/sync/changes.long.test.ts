// Changes at the service reach the mirror, and nothing else is deleted, also of a service that refuses or ignores the order by change
// date: no page is asked for twice. Signals decide which company lists are read. Shows P11, P16 and P23.
import { describe, expect, test } from "vitest";
import { aContact, aJob, aNewsArticle, anAccount, anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService, type FakeOptions } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

const later = "2026-11-20T00:00:00.000Z";

const aMirror = async (data = anOrganization(5), options: FakeOptions = {}) => {
  const rig = await startMemoryRig(createFakeService(data, options));
  expect((await rig.sync()).error).toBeNull();
  return { ...rig, data };
};

test("a changed account is updated, and its insight is fetched anew", async () => {
  const { data, sync, query } = await aMirror();
  Object.assign(data.accounts[2] ?? {}, { name: "Renamed", updatedAt: later });
  data.insights["3"] = { summary: { keyInsights: ["new"] } };
  const { of, error } = await sync();
  expect(error).toBeNull();
  expect(of("accounts")).toMatchObject({ updated: 1, unchanged: 4, credits: 1 });
  expect(of("account_insights")).toMatchObject({ updated: 1, credits: 1 });
  expect(await query("select name from accounts where id = 3")).toEqual([{ name: "Renamed" }]);
});

test("the insight of a deleted account goes with it, also when the same run fetches it after the delete", async () => {
  const { data, sync, rows } = await aMirror();
  data.accounts.splice(2, 1);
  const { error, of } = await sync({ full: true });
  expect([error, of("accounts").deleted]).toEqual([null, 1]);
  expect(
    rows("account_insights", "account_id")
      .map((row) => Number(row.account_id))
      .toSorted(),
  ).toEqual([1, 2, 4, 5]);
});

test("a look that found new rows is followed by a look again, not by a walk", async () => {
  const { data, sync } = await aMirror(anOrganization(10), { maxPerPage: 10 });
  data.signals.push(aSignal(9001, { updatedAt: later }), aSignal(9002, { updatedAt: later }));
  expect((await sync()).of("signals")).toMatchObject({ inserted: 2, credits: 1 });
  for (const _ of [1, 2]) expect(await sync()).toMatchObject({ error: null, paid: 3 });
});

test("a deleted contact is probed by id and removed; when it returns it is live again", async () => {
  const { data, sync, ids } = await aMirror(anOrganization(5), { maxPerPage: 8 });
  const [gone = aContact("x")] = data.contacts.splice(7, 1);
  const { of, error, sent } = await sync();
  expect([error, of("contacts").deleted]).toEqual([null, 1]);
  expect(sent.flatMap(({ path, status }) => (path === `/v1/contacts/${gone.id}` ? [status] : []))).toEqual([404]);
  data.contacts.push(gone);
  await sync();
  expect(ids("contacts")).toHaveLength(20);
  expect((await sync()).paid).toBe(3);
});

test("a list that loses more than its share deletes nothing unless that is allowed", async () => {
  const { data, sync, ids } = await aMirror();
  data.signals.splice(0, 20);
  const refused = await sync();
  expect([refused.error?.exitCode, ids("signals").length]).toEqual([5, 30]);
  expect(refused.of("signals").error).toContain("MASS_DELETE_REFUSED");
  const allowed = await sync({ allowMassDelete: true });
  expect([allowed.error, allowed.of("signals").deleted]).toEqual([null, 20]);
});

test("a full sync finds closed job openings of one company", async () => {
  const { data, sync, ids } = await aMirror();
  data.lists.c_2?.["job-openings"]?.splice(0, 3);
  const { of, error } = await sync({ full: true });
  expect([error, of("job_openings").deleted, ids("job_openings").length]).toEqual([null, 3, 12]);
});

test("an unchanged look costs one credit although every row carries the same change date", async () => {
  const data = anOrganization(8);
  for (const row of [...data.accounts, ...data.signals]) row.updatedAt = later;
  for (const row of data.contacts) row.lastChangeDetectedOn = later;
  const { sync } = await aMirror(data, { maxPerPage: 5 });
  expect((await sync()).paid).toBe(3);
});

/** A mirror of such a service, level with it. */
const unordered = async (accounts: number, options: FakeOptions) => {
  const service = createFakeService(anOrganization(accounts), { maxPerPage: 25, ...options });
  // The lists that have an order; with 60 accounts those of their companies would be 300 requests more.
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,signals" });
  // What the service does not do is learned in the second one.
  for (const _ of [1, 2]) expect((await rig.sync()).error).toBeNull();
  const lists = ["/v1/accounts", "/v1/contacts", "/v1/signals"];
  const syncAgain = async () => {
    const { error, sent } = await rig.sync();
    expect(error).toBeNull();
    const asked = sent.filter(({ path, status }) => lists.includes(path) && status === 200);
    return asked.map(({ path, query }) => `${path} ${JSON.stringify(query)}`);
  };
  return { service, rig, syncAgain };
};

describe.each(["refuse", "ignore"] as const)("sorting: %s", (sort) => {
  test("lists of one page cost one credit each when nothing changed", async () => {
    const { syncAgain } = await unordered(3, { sort });
    const asked = await syncAgain();
    // They are sent side by side, so their order on arrival is chance.
    expect(asked.map((line) => line.split(" ")[0]).sort()).toEqual(["/v1/accounts", "/v1/contacts", "/v1/signals"]);
  });

  test("lists of many pages: a change on the last page is found, and no page is asked for twice", async () => {
    const { service, rig, syncAgain } = await unordered(60, { sort });
    const asked = await syncAgain();
    expect(new Set(asked).size).toBe(asked.length);
    Object.assign(service.data.accounts.at(-1) ?? {}, { name: "renamed", updatedAt: later });
    Object.assign(service.data.contacts.at(-1) ?? {}, { lastName: "Renamed", lastChangeDetectedOn: later });
    await syncAgain();
    expect(await rig.query("SELECT id FROM accounts WHERE name = 'renamed'")).toHaveLength(1);
    expect(await rig.query("SELECT id FROM contacts WHERE last_name = 'Renamed'")).toHaveLength(1);
  });

  test("a contact that is gone, and a new one that never changed, are noticed, for one credit more than the filter", async () => {
    const { service, rig, syncAgain } = await unordered(20, { sort });
    const contacts = (asked: readonly string[]) => asked.filter((line) => line.startsWith("/v1/contacts"));
    expect(contacts(await syncAgain())).toHaveLength(2);
    const gone = service.data.contacts.splice(3, 1);
    await syncAgain();
    expect(await rig.query(`SELECT id FROM contacts WHERE id = '${gone[0]?.id}'`)).toEqual([]);
    service.data.contacts.push({ ...aContact("p_undated"), lastChangeDetectedOn: undefined });
    await syncAgain();
    expect(await rig.query("SELECT id FROM contacts WHERE id = 'p_undated'")).toHaveLength(1);
  });
});

/** A mirror after its first sync; `asked`: lists of companies that one more sync asks for. */
const mirrored = async (data = anOrganization(3), request = {}) => {
  const rig = await startMemoryRig(createFakeService(data));
  expect((await rig.sync(request)).error).toBeNull();
  const asked = async () => {
    const { error, sent } = await rig.sync();
    expect(error).toBeNull();
    return sent.map(({ path }) => path).filter((path) => path.startsWith("/v1/companies/"));
  };
  return { ...rig, data, asked };
};
const newsAsked = (paths: readonly string[]) => paths.filter((path) => path.endsWith("/news-articles"));

test.each([
  ["relevant-news", "news-articles", "news_articles", aNewsArticle("fresh")],
  ["hiring-alert", "job-openings", "job_openings", aJob("fresh")],
] as const)(
  "a %s signal that arose after the last look at a company's %s has them looked at again, and no other list",
  async (type, list, name, row) => {
    const { data, asked, ids } = await mirrored();
    const now = new Date(Date.now() + 60_000).toISOString();
    data.lists.c_2?.[list]?.unshift(row);
    data.signals.push(aSignal(9001, { type, accountId: 2, createdAt: now, updatedAt: now }));
    expect(await asked()).toEqual([`/v1/companies/c_2/${list}`]);
    expect(ids(name)).toContain("fresh");
    expect(await asked()).toEqual([]);
  },
);

test("a signal older than the last look says nothing new, however late it arrives", async () => {
  // A first mirror of several runs: the lists of companies come before the signals do.
  const { asked, service } = await mirrored(anOrganization(3), { streams: ["accounts", "news_articles"] });
  expect(newsAsked(service.log.map(({ path }) => path))).toHaveLength(3);
  expect(newsAsked(await asked())).toEqual([]);
});

test("a signal without a time of its own counts from when it came", async () => {
  const { data, sync, asked } = await mirrored({ ...anOrganization(1), accounts: [anAccount(1)], signals: [] });
  data.signals.push(aSignal(9001, { accountId: 1, createdAt: null }));
  await sync({ streams: ["signals"] });
  expect(newsAsked(await asked())).toEqual(["/v1/companies/c_1/news-articles"]);
});

test.each([
  ["a date without a time", (now: number) => new Date(now).toISOString().slice(0, 10)],
  ["the time of a slow clock", (now: number) => new Date(now - 3_600_000).toISOString()],
])("a new signal counts although %s is before the last look", async (_form, dated) => {
  const { data, asked } = await mirrored();
  const createdAt = dated(Date.now());
  data.signals.push(aSignal(9001, { accountId: 2, createdAt, updatedAt: new Date().toISOString() }));
  expect(newsAsked(await asked())).toEqual(["/v1/companies/c_2/news-articles"]);
  expect(newsAsked(await asked())).toEqual([]);
});

test("a signal older than those that were mirrored at the last look says nothing new", async () => {
  const { data, asked } = await mirrored();
  data.signals.push(aSignal(5, { accountId: 2, createdAt: "2020-01-01", updatedAt: new Date().toISOString() }));
  expect(newsAsked(await asked())).toEqual([]);
});
