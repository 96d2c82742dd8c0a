// Mirrored signals decide which company lists are read. Shows P16.
import { expect, test } from "vitest";
import { aJob, aNewsArticle, anAccount, anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

const newsAsked = (log: readonly { readonly path: string }[]) =>
  log.map(({ path }) => path).filter((path) => path.endsWith("/news-articles"));

test.each([
  ["relevant-news", "news-articles", "news_articles", aNewsArticle("fresh")],
  ["hiring-alert", "job-openings", "job_openings", aJob("fresh")],
] as const)(
  "a %s signal that arose after the last look at a company's %s has them looked at again, and no other list",
  async (type, list, name, row) => {
    const service = createFakeService(anOrganization(3));
    const rig = await startMemoryRig(service);
    expect((await rig.sync()).error).toBeNull();
    service.log.splice(0);
    const now = new Date(Date.now() + 60_000).toISOString();
    service.data.lists.c_2?.[list]?.unshift(row);
    service.data.signals.push(aSignal(9001, { type, accountId: 2, createdAt: now, updatedAt: now }));
    const asked = () => service.log.map(({ path }) => path).filter((path) => path.startsWith("/v1/companies/"));
    const { report } = await rig.sync();
    expect(asked()).toEqual([`/v1/companies/c_2/${list}`]);
    expect(report.streams.find(({ stream }) => stream === name)).toMatchObject({ inserted: 1, credits: 1 });
    await rig.sync();
    expect(asked()).toHaveLength(1);
  },
);

test("a signal older than the last look says nothing new, however late it arrives", async () => {
  const service = createFakeService(anOrganization(3));
  const rig = await startMemoryRig(service);
  // A first mirror of several runs: the lists of companies come before the signals do.
  expect((await rig.sync({ streams: ["accounts", "news_articles"] })).error).toBeNull();
  expect(newsAsked(service.log)).toHaveLength(3);
  expect((await rig.sync()).error).toBeNull();
  expect(newsAsked(service.log)).toHaveLength(3);
});

test("a signal without a time of its own counts from when it came", async () => {
  const data = anOrganization(1);
  const service = createFakeService({ ...data, accounts: [anAccount(1)], signals: [] });
  const rig = await startMemoryRig(service);
  expect((await rig.sync()).error).toBeNull();
  service.data.signals.push(aSignal(9001, { accountId: 1, createdAt: null }));
  await rig.sync({ streams: ["signals"] });
  service.log.splice(0);
  await rig.sync();
  expect(newsAsked(service.log)).toEqual(["/v1/companies/c_1/news-articles"]);
});

test.each([
  ["a date without a time", (now: number) => new Date(now).toISOString().slice(0, 10)],
  ["the time of a slow clock", (now: number) => new Date(now - 3_600_000).toISOString()],
])("a new signal counts although %s is before the last look", async (_form, dated) => {
  const service = createFakeService(anOrganization(3));
  const rig = await startMemoryRig(service);
  expect((await rig.sync()).error).toBeNull();
  service.log.splice(0);
  const createdAt = dated(Date.now());
  service.data.signals.push(aSignal(9001, { accountId: 2, createdAt, updatedAt: new Date().toISOString() }));
  expect((await rig.sync()).error).toBeNull();
  expect(newsAsked(service.log)).toEqual(["/v1/companies/c_2/news-articles"]);
  await rig.sync();
  expect(newsAsked(service.log)).toHaveLength(1);
});

test("a signal older than those that were mirrored at the last look says nothing new", async () => {
  const service = createFakeService(anOrganization(3));
  const rig = await startMemoryRig(service);
  expect((await rig.sync()).error).toBeNull();
  service.log.splice(0);
  const updatedAt = new Date().toISOString();
  service.data.signals.push(aSignal(5, { accountId: 2, createdAt: "2020-01-01", updatedAt }));
  expect((await rig.sync()).error).toBeNull();
  expect(newsAsked(service.log)).toEqual([]);
});
