// Ids that a path cannot carry: servers and clients resolve the dots away, and another route would be asked.
import { expect, test } from "vitest";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { startSyncRig } from "../../../support/sync-rig.ts";

/** A mirror of three accounts, the second of which names this company, after a sync. */
const syncWith = async (companyId: string) => {
  const service = createFakeService(anOrganization(3));
  Object.assign(service.data.accounts[1] ?? {}, { companyId });
  const { sync, rows } = await startSyncRig(service);
  const synced = await sync();
  const one = async (sql: string) => Object.values((await rows(`SELECT ${sql}`))[0] ?? {})[0];
  return { ...synced, one, paths: synced.sent.map(({ path }) => path) };
};

test.each(["..", "."])(
  "a company whose id is %j is asked for under no other route, and is said to fail",
  async (id) => {
    const { error, of, paths, one } = await syncWith(id);
    expect(error?.exitCode).toBe(5);
    const says = expect.stringContaining("leads to another route");
    expect(of("companies")).toMatchObject({ complete: false, error: says });
    const isElsewhere = (path: string) =>
      path.startsWith("/v1/companies") && !/^\/v1\/companies\/c_[13](\/|$)/.test(path);
    const resolved = ["/v1/", "/v1", "/v1/news-articles", "/v1/job-openings"];
    expect(paths.filter((path) => isElsewhere(path) || resolved.includes(path))).toEqual([]);
    expect(await one("count(*)::INT FROM companies")).toBe(2);
  },
);

test("an account whose company id is an empty text has no company, and every stream stays complete", async () => {
  const { error, complete, paths, one } = await syncWith("");
  expect([error, complete]).toEqual([null, true]);
  expect(paths.filter((path) => /companies\/(\/|$)/.test(path))).toEqual([]);
  expect(await one("bool_and(complete) FROM marts.freshness")).toBe(true);
  expect(await one("count(*)::INT FROM accounts WHERE company_id = ''")).toBe(1);
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
