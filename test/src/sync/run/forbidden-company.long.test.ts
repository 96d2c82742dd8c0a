// A company that the service forbids fails its own lists, and ends no sync. Content that it forbids is left out.
import { expect, test } from "vitest";
import { anAccount, anOrganization } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { startSyncRig } from "../../../support/sync-rig.ts";

const started = (accounts: number, env: Record<string, string> = {}) =>
  startSyncRig(createFakeService(anOrganization(accounts), { maxPerPage: 50, credits: 5_000 }), env);

test("a forbidden company keeps no other list from being read, in any later sync", async () => {
  const { service, sync, rows } = await started(6);
  service.answerWhere(/^\/v1\/companies\/c_2(\/|$)/, 403);
  await sync();
  for (const id of [102, 103]) {
    service.data.accounts.push(anAccount(id, { companyId: "c_1" }));
    const { error, of } = await sync();
    expect(error).toMatchObject({ code: "STREAMS_FAILED", exitCode: 5 });
    expect(await rows(`SELECT count(*)::INTEGER AS n FROM accounts WHERE id = ${id}`)).toEqual([{ n: 1 }]);
    expect(of("account_insights").status).toBe("done");
  }
  expect(await rows("SELECT count(DISTINCT company_id)::INTEGER AS n FROM news_articles")).toEqual([{ n: 5 }]);
});

test.each([403, 451])(
  "a route that answers %i while credits are left fails alone: every other table is read, and it is asked less and less often",
  async (status) => {
    const { service, sync, rows } = await started(3);
    service.answerWhere(/\/earnings-calls$/, status);
    expect((await sync()).error).toMatchObject({ code: "STREAMS_FAILED", exitCode: 5 });
    await sync();
    const { report } = await sync();
    const failed = report.streams.filter(({ status: end }) => end !== "done" && end !== "skipped");
    expect(failed.map(({ stream }) => stream)).toEqual(["earnings_calls"]);
    expect(await rows("SELECT count(DISTINCT company_id)::INTEGER AS n FROM news_articles")).toEqual([{ n: 3 }]);
    expect(service.log.filter(({ path }) => path.endsWith("/earnings-calls")).length).toBeLessThanOrEqual(6);
  },
);

test.each([402, 403])(
  "content that is not in the plan (%i) is left out, at no credit, and asked for again in the next sync",
  async (status) => {
    const { service, sync, rows } = await started(3, {
      DUCKMIRROR_STREAMS: "accounts,news_articles,filings",
      DUCKMIRROR_CONTENT: "articleBody,fullContent",
    });
    for (const lists of Object.values(service.data.lists))
      for (const article of lists["news-articles"] ?? []) article.articleBody = "text";
    service.answerWhere(({ query }) => /articleBody|fullContent/.test(query.onlyWithFields ?? ""), status);
    expect(await sync()).toMatchObject({ error: null, complete: true, paid: 1 + 3 + 3 });
    const withBody = "SELECT count(*)::INTEGER AS n FROM news_articles WHERE article_body IS NOT NULL";
    expect(await rows(withBody)).toEqual([{ n: 0 }]);
    service.answerInstead(null);
    expect((await sync({ full: true })).error).toBeNull();
    expect((await rows(withBody))[0]?.n).toBeGreaterThan(0);
  },
);

test("signals whose content the service forbids are not complete, in the sync that asks for it or in later ones", async () => {
  const env = { DUCKMIRROR_STREAMS: "signals", DUCKMIRROR_CONTENT: "fullContent" };
  const { service, sync, rows } = await started(3, env);
  service.answerWhere(/\/signals\/1\d$/, 403);
  const freshness =
    "SELECT complete, reason LIKE '%content of % signals%' AS named FROM marts.freshness WHERE stream = 'signals'";
  for (let round = 0; round < 2; round++) {
    expect((await sync()).complete).toBe(false);
    expect(await rows(freshness)).toEqual([{ complete: false, named: true }]);
  }
});
