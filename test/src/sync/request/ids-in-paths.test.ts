// Ids that a path cannot carry: servers and clients resolve the dots away, and another route would be asked.
import { expect, test } from "vitest";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { startSyncRig } from "../../../support/sync-rig.ts";

test.each(["..", "."])(
  "a company whose id is %j is asked for under no other route, and is said to fail",
  async (id) => {
    const service = createFakeService(anOrganization(3));
    Object.assign(service.data.accounts[1] ?? {}, { companyId: id });
    const rig = await startSyncRig(service);
    const { report, error } = await rig.sync();
    expect(error?.exitCode).toBe(5);
    const companies = report.streams.find(({ stream }) => stream === "companies");
    expect(companies).toMatchObject({ complete: false, error: expect.stringContaining("leads to another route") });
    const routes = service.log.map(({ path }) => path);
    expect(
      routes.filter((path) => path.startsWith("/v1/companies") && !/^\/v1\/companies\/c_[13](\/|$)/.test(path)),
    ).toEqual([]);
    expect(routes.filter((path) => ["/v1/", "/v1", "/v1/news-articles", "/v1/job-openings"].includes(path))).toEqual(
      [],
    );
    expect(await rig.rows("SELECT count(*)::INT AS n FROM companies")).toEqual([{ n: 2 }]);
  },
);

test("an account whose company id is an empty text has no company, and every stream stays complete", async () => {
  const service = createFakeService(anOrganization(3));
  Object.assign(service.data.accounts[1] ?? {}, { companyId: "" });
  const rig = await startSyncRig(service);
  const { report, error } = await rig.sync();
  expect(error).toBeNull();
  expect(report.streams.filter(({ complete }) => !complete)).toEqual([]);
  expect(service.log.filter(({ path }) => /companies\/(\/|$)/.test(path))).toEqual([]);
  expect(await rig.rows("SELECT bool_and(complete) AS complete FROM marts.freshness")).toEqual([{ complete: true }]);
  expect(await rig.rows("SELECT count(*)::INT AS n FROM accounts WHERE company_id = ''")).toEqual([{ n: 1 }]);
});

test("a company id that the service sends as a number leads to its company", async () => {
  const service = createFakeService(anOrganization(2), { included: "none" });
  const [account] = service.data.accounts;
  const [company] = service.data.companies;
  const lists = service.data.lists[String(company?.id)];
  if (account === undefined || company === undefined || lists === undefined) throw new Error("no company");
  Object.assign(account, { companyId: 77 });
  Object.assign(company, { id: 77 });
  service.data.lists["77"] = lists;
  const rig = await startSyncRig(service);
  expect((await rig.sync()).error).toBeNull();
  expect(await rig.rows("SELECT name FROM companies WHERE id = '77'")).toEqual([{ name: company.name }]);
  const news = await rig.rows("SELECT count(*)::INT AS n FROM news_articles WHERE company_id = '77'");
  expect(news).toEqual([{ n: lists["news-articles"]?.length }]);
  const [kept] = await rig.rows(
    "SELECT company_id, _extra ->> 'companyId' AS received FROM accounts WHERE company_id = '77'",
  );
  expect(kept).toEqual({ company_id: "77", received: "77" });
});
