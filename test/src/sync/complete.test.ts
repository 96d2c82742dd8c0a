// The report of a sync says of each stream that it is complete exactly when that is proven. Shows P2.
import { expect, test } from "vitest";
import type { SyncReport } from "../../../src/core/report/sync-report.ts";
import { aNewsArticle, anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";
import { type SyncRig, simulatedClock, startSyncRig } from "../../support/sync-rig.ts";

/** Syncs into files, whose marts say the same as the report. */
const inFiles = async (...args: Parameters<typeof startSyncRig>) => {
  const rig = await startSyncRig(...args);
  return rig;
};

const inMemory = async (...args: Parameters<typeof startMemoryRig>) => {
  const rig = await startMemoryRig(...args);
  return rig;
};

const verdicts = (report: SyncReport) =>
  Object.fromEntries(
    report.streams.map(({ stream, complete, unconfirmed }) => [stream, complete ? "complete" : unconfirmed]),
  );
const marts = (rig: SyncRig, stream: string) =>
  rig.rows(
    `SELECT DISTINCT complete, unconfirmed, unconfirmed_because FROM marts.freshness WHERE stream = '${stream}'`,
  );

test("a first sync of an unchanged source is complete in every stream, and so are looks whose counts agree", async () => {
  const service = createFakeService(anOrganization(4));
  const rig = await inFiles(service);
  for (const round of [1, 2, 3]) {
    if (round === 3) service.data.signals.push(aSignal(9001, { updatedAt: "2026-11-20T00:00:00.000Z" }));
    const { report, error } = await rig.sync();
    expect(error).toBeNull();
    expect(new Set(Object.values(verdicts(report)))).toEqual(new Set(["complete"]));
  }
  expect(await rig.rows("SELECT DISTINCT complete, unconfirmed FROM marts.freshness")).toEqual([
    { complete: true, unconfirmed: 0 },
  ]);
});

test("a budget cut leaves what was not read unconfirmed; the next sync completes it", async () => {
  const service = createFakeService(anOrganization(6), { maxPerPage: 5 });
  const rig = await inMemory(service);
  const { report } = await rig.sync({}, { DUCKMIRROR_MAX_CREDITS: "4" });
  expect(report.status).toBe("stopped");
  const cut = report.streams.filter(({ complete }) => !complete).map(({ stream }) => stream);
  expect(cut).toEqual(expect.arrayContaining(["signals", "filings", "news_articles"]));
  const whole = await rig.sync();
  expect(new Set(Object.values(verdicts(whole.report)))).toEqual(new Set(["complete"]));
  // A mirror that was complete is not said to be complete by a run that had no credit left to look.
  const poor = await rig.sync({}, { DUCKMIRROR_MAX_CREDITS: "1" });
  expect(poor.report.streams.some(({ complete, reason: because }) => !complete && because !== undefined)).toBe(true);
});

test("lists that were empty for a moment are complete again once changes are read and the counts agree", async () => {
  const organization = anOrganization(4);
  let empty = false;
  const meta = {
    requestId: "r",
    apiVersion: "1",
    timestamp: "2026-11-21T10:00:00Z",
    page: 1,
    perPage: 50,
    totalCount: 0,
  };
  const service = createFakeService(organization, {
    before: ({ path }) =>
      empty && ["/v1/contacts", "/v1/signals"].includes(path) ? { status: 200, body: { data: [], meta } } : undefined,
  });
  const rig = await inMemory(service, { DUCKMIRROR_STREAMS: "contacts,signals" });
  await rig.sync();
  empty = true;
  const { error, report: lost } = await rig.sync();
  expect(error?.exitCode).toBe(5);
  expect(lost.streams.map(({ complete }) => complete)).toEqual([false, false]);
  empty = false;
  const earlier = service.log.length;
  const { report } = await rig.sync();
  expect(report.streams.map(({ complete, unconfirmed }) => [complete, unconfirmed])).toEqual([
    [true, 0],
    [true, 0],
  ]);
  expect(service.log.length - earlier).toBeLessThanOrEqual(4);
});

test("a failed stream is not complete", async () => {
  const service = createFakeService(anOrganization(3));
  const rig = await inFiles(service);
  await rig.sync();
  service.answerInstead(({ path }) => (path === "/v1/contacts" ? { status: 418, body: {} } : undefined));
  const { report, error } = await rig.sync();
  expect([error?.code, report.status]).toEqual(["STREAMS_FAILED", "partial"]);
  expect(verdicts(report)).toMatchObject({ contacts: null, accounts: "complete", signals: "complete" });
  expect(await marts(rig, "contacts")).toMatchObject([{ complete: false }]);
});

test("a list that the service counts otherwise than it lists stays unconfirmed by that many rows", async () => {
  const service = createFakeService(anOrganization(3));
  const rig = await inFiles(service);
  const articles = service.data.lists.c_1?.["news-articles"] ?? [];
  articles.push(aNewsArticle("n1a"));
  const { report, error } = await rig.sync();
  expect(error).toBeNull();
  expect(verdicts(report)).toMatchObject({ news_articles: 1, job_openings: "complete" });
  expect(await marts(rig, "news_articles")).toEqual([
    {
      complete: false,
      unconfirmed: 1,
      unconfirmed_because: "1 of 3 lists: the mirror holds 2 rows, the service counts 3",
    },
  ]);
});

test.each(["news_articles", "companies", "account_insights"])(
  "%s of a mirror without accounts or companies fails, and says what to read first",
  async (stream) => {
    const service = createFakeService(anOrganization(2));
    const rig = await inMemory(service);
    const { report, error } = await rig.sync({ streams: [stream] });
    expect(service.log).toEqual([]);
    expect(error).toMatchObject({ code: "STREAMS_FAILED", exitCode: 5 });
    expect(report.streams).toMatchObject([{ stream, status: "failed", complete: false }]);
    expect(report.streams[0]?.error).toMatch(/^PARENTS_MISSING: .* knows no (companies|accounts) yet/);
    expect(rig.events).toContainEqual(
      expect.objectContaining({
        kind: "note",
        text: expect.stringContaining(`duckmirror sync ${stream} --with-parents`),
      }),
    );
    const { error: none, report: both } = await rig.sync({ streams: ["accounts", stream] });
    expect(none).toBeNull();
    expect(both.streams.every(({ complete }) => complete)).toBe(true);
  },
);

test("an organization without accounts has nothing to read under them, and that is complete", async () => {
  const data = anOrganization(0);
  const clock = simulatedClock();
  const rig = await startMemoryRig(createFakeService(data), {}, clock);
  const { report, error } = await rig.sync();
  expect(error).toBeNull();
  expect(verdicts(report)).toMatchObject({ news_articles: "complete", account_insights: null });
  await clock.sleep(86_400_000);
  expect(verdicts((await rig.sync()).report)).toMatchObject({
    news_articles: "complete",
    account_insights: "complete",
  });
});
