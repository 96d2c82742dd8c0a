// The report of a sync says of each stream that it is complete exactly when that is proven. Shows P2.
import { expect, test } from "vitest";
import type { SyncReport } from "../../../src/core/report/sync-report.ts";
import { aNewsArticle, anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";
import { type SyncRig, simulatedClock, startSyncRig } from "../../support/sync-rig.ts";

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
  const rig = await startSyncRig(service);
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
  const rig = await startMemoryRig(service);
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
  const service = createFakeService(anOrganization(4));
  const { sync } = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "contacts,signals" });
  await sync();
  const meta = { page: 1, perPage: 50, totalCount: 0 };
  service.answerWhere(/^\/v1\/(contacts|signals)$/, { status: 200, body: { data: [], meta } });
  const lost = await sync();
  expect([lost.error?.exitCode, lost.report.streams.map(({ complete }) => complete)]).toEqual([5, [false, false]]);
  service.answerInstead(null);
  const { report, sent } = await sync();
  expect(report.streams).toMatchObject([1, 2].map(() => ({ complete: true, unconfirmed: 0 })));
  expect(sent.length).toBeLessThanOrEqual(4);
});

test("a failed stream is not complete", async () => {
  const service = createFakeService(anOrganization(3));
  const rig = await startSyncRig(service);
  await rig.sync();
  service.answerWhere("/v1/contacts", 418);
  const { report, code } = await rig.sync();
  expect([code, report.status]).toEqual(["STREAMS_FAILED", "partial"]);
  expect(verdicts(report)).toMatchObject({ contacts: null, accounts: "complete", signals: "complete" });
  expect(await marts(rig, "contacts")).toMatchObject([{ complete: false }]);
});

test("a list that the service counts otherwise than it lists stays unconfirmed by that many rows", async () => {
  const service = createFakeService(anOrganization(3));
  const rig = await startSyncRig(service);
  const articles = service.data.lists.c_1?.["news-articles"] ?? [];
  articles.push(aNewsArticle("n1a"));
  const { report, error } = await rig.sync();
  expect(error).toBeNull();
  expect(verdicts(report)).toMatchObject({ news_articles: 1, job_openings: "complete" });
  const because = "1 of 3 lists: the mirror holds 2 rows, the service counts 3";
  expect(await marts(rig, "news_articles")).toEqual([
    { complete: false, unconfirmed: 1, unconfirmed_because: because },
  ]);
});

test.each(["news_articles", "companies", "account_insights"])(
  "%s of a mirror without accounts or companies fails, and says what to read first",
  async (stream) => {
    const service = createFakeService(anOrganization(2));
    const { sync, events } = await startMemoryRig(service);
    const { error, sent, of } = await sync({ streams: [stream] });
    expect(sent).toEqual([]);
    expect(error).toMatchObject({ code: "STREAMS_FAILED", exitCode: 5 });
    expect(of(stream)).toMatchObject({ status: "failed", complete: false });
    expect(of(stream).error).toMatch(/^PARENTS_MISSING: .* knows no (companies|accounts) yet/);
    const text = expect.stringContaining(`duckmirror sync ${stream} --with-parents`);
    expect(events).toContainEqual(expect.objectContaining({ kind: "note", text }));
    expect(await sync({ streams: ["accounts", stream] })).toMatchObject({ error: null, complete: true });
  },
);

test("an organization without accounts has nothing to read under them, and that is complete", async () => {
  const { sync, clock } = await startMemoryRig(createFakeService(anOrganization(0)), {}, simulatedClock());
  const { report, error } = await sync();
  expect(error).toBeNull();
  expect(verdicts(report)).toMatchObject({ news_articles: "complete", account_insights: null });
  await clock.sleep(86_400_000);
  expect(verdicts((await sync()).report)).toMatchObject({ news_articles: "complete", account_insights: "complete" });
});
