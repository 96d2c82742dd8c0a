// Mirrored signals decide which company lists are read. Shows P16.
import { expect, test } from "vitest";
import { aJob, aNewsArticle, anAccount, anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

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
