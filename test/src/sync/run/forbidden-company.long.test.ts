// A company that the service forbids fails its own lists, and ends no sync. Content that it forbids is left out.
import { expect, test } from "vitest";
import { anAccount, anOrganization } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { startSyncRig } from "../../../support/sync-rig.ts";

const FORBIDDEN = /^\/v1\/companies\/c_2(\/|$)/;

test("a forbidden company keeps no other list from being read, in any later sync", async () => {
  const data = anOrganization(6);
  const service = createFakeService(data, { maxPerPage: 50 });
  service.answerInstead(({ path }) => (FORBIDDEN.test(path) ? { status: 403, body: { message: "no" } } : undefined));
  const rig = await startSyncRig(service);
  await rig.sync();
  for (const round of [2, 3]) {
    data.accounts.push(anAccount(100 + round, { companyId: "c_1" }));
    const { error, report } = await rig.sync();
    expect(error).toMatchObject({ code: "STREAMS_FAILED", exitCode: 5 });
    expect(await rig.rows(`SELECT count(*)::INTEGER AS n FROM accounts WHERE id = ${100 + round}`)).toEqual([{ n: 1 }]);
    expect(report.streams.find(({ stream }) => stream === "account_insights")?.status).toBe("done");
  }
  expect(await rig.rows("SELECT count(DISTINCT company_id)::INTEGER AS n FROM news_articles")).toEqual([{ n: 5 }]);
});

test.each([403, 451])(
  "a route that answers %i while credits are left fails alone: every other table is read, and it is asked less and less often",
  async (status) => {
    const service = createFakeService(anOrganization(3), { maxPerPage: 50, credits: 5_000 });
    service.answerInstead(({ path }) =>
      path.endsWith("/earnings-calls") ? { status, body: { message: "no" } } : undefined,
    );
    const rig = await startSyncRig(service);
    expect((await rig.sync()).error).toMatchObject({ code: "STREAMS_FAILED", exitCode: 5 });
    await rig.sync();
    const { report } = await rig.sync();
    const failed = report.streams.filter(({ status: end }) => end !== "done" && end !== "skipped");
    expect(failed.map(({ stream }) => stream)).toEqual(["earnings_calls"]);
    expect(await rig.rows("SELECT count(DISTINCT company_id)::INTEGER AS n FROM news_articles")).toEqual([{ n: 3 }]);
    expect(service.log.filter(({ path }) => path.endsWith("/earnings-calls")).length).toBeLessThanOrEqual(6);
  },
);

test.each([402, 403])(
  "content that is not in the plan (%i) is left out, at no credit, and asked for again in the next sync",
  async (status) => {
    const data = anOrganization(3);
    for (const lists of Object.values(data.lists)) {
      for (const article of lists["news-articles"] ?? []) Object.assign(article, { articleBody: "text" });
    }
    const service = createFakeService(data, { maxPerPage: 50 });
    const allowed = service.options;
    service.options = {
      ...allowed,
      before: ({ query }) =>
        /articleBody|fullContent/.test(query.onlyWithFields ?? "") ? { status, body: { message: "no" } } : undefined,
    };
    const rig = await startSyncRig(service, {
      DUCKMIRROR_STREAMS: "accounts,news_articles,filings",
      DUCKMIRROR_CONTENT: "articleBody,fullContent",
    });
    const { error, report } = await rig.sync();
    expect(error).toBeNull();
    expect(report.streams.every(({ complete }) => complete)).toBe(true);
    expect(report.credits.spent).toBe(1 + 3 + 3);
    const withBody = "SELECT count(*)::INTEGER AS n FROM news_articles WHERE article_body IS NOT NULL";
    expect(await rig.rows(withBody)).toEqual([{ n: 0 }]);
    service.options = allowed;
    expect((await rig.sync({ full: true })).error).toBeNull();
    expect((await rig.rows(withBody))[0]?.n).toBeGreaterThan(0);
  },
);

test("signals whose content the service forbids are not complete, in the sync that asks for it or in later ones", async () => {
  const service = createFakeService(anOrganization(3), { maxPerPage: 50 });
  service.answerInstead(({ path }) =>
    /\/signals\/1\d$/.test(path) ? { status: 403, body: { message: "no" } } : undefined,
  );
  const rig = await startSyncRig(service, { DUCKMIRROR_STREAMS: "signals", DUCKMIRROR_CONTENT: "fullContent" });
  const freshness =
    "SELECT complete, reason LIKE '%content of % signals%' AS named FROM marts.freshness WHERE stream = 'signals'";
  for (let round = 0; round < 2; round++) {
    expect((await rig.sync()).report.streams).toMatchObject([{ stream: "signals", complete: false }]);
    expect(await rig.rows(freshness)).toEqual([{ complete: false, named: true }]);
  }
});
