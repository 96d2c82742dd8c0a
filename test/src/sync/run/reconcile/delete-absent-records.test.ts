// Records that no list shows the end of: a company's profile that turns 404, an owner whom no account has any more.
// The tables hold what the service would return now; the rest is in history. Shows P9.
import { expect, test } from "vitest";
import { aCompany, aJob, anAccount } from "../../../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeService } from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";
import { type SyncRig, startSyncRig } from "../../../../support/sync-rig.ts";

const STREAMS = "accounts,companies,job_openings";

const aService = (followed: number): FakeService => {
  const data = emptyData();
  data.accounts.push(anAccount(1, { ownerId: "u_1" }), anAccount(2, { ownerId: "u_2" }));
  data.companies.push(aCompany("c_1"), aCompany("c_2"));
  data.owners.push({ id: "u_1" }, { id: "u_2" });
  for (let n = 1; n <= followed; n++) {
    data.companies.push(aCompany(`f_${n}`));
    data.lists[`f_${n}`] = { "job-openings": [aJob(`j_${n}`)] };
  }
  return createFakeService(data);
};

/** Rigs of files are for tests that read what history keeps. */
const start = async <Rig extends Pick<SyncRig, "sync">>(
  rigOf: (service: FakeService, env: Record<string, string>) => Promise<Rig>,
  service: FakeService,
  followed: number,
): Promise<Rig> => {
  const inputs = Array.from({ length: followed }, (_, n) => `f_${n + 1}.example`).join(",");
  const rig = await rigOf(service, { DUCKMIRROR_STREAMS: STREAMS, DUCKMIRROR_COMPANIES: inputs });
  expect((await rig.sync()).error).toBeNull();
  return rig;
};

const ids = async (rows: SyncRig["rows"], sql: string) => (await rows(sql)).map((row) => row.id);

test("a profile that turns 404 moves to history with all that is under it, and its input is resolved anew", async () => {
  const service = aService(3);
  const { sync, rows } = await start(startSyncRig, service, 3);
  service.data.companies = service.data.companies.filter(({ id }) => id !== "f_2");
  const { error, of } = await sync({ full: true });
  expect([error, of("companies").deleted]).toEqual([null, 1]);
  expect(await ids(rows, "select id from companies order by id")).toEqual(["c_1", "c_2", "f_1", "f_3"]);
  expect(await ids(rows, "select id from job_openings order by id")).toEqual(["j_1", "j_3"]);
  expect(await ids(rows, "select id from history.companies where change = 'delete'")).toEqual(["f_2"]);
  expect(await ids(rows, "select id from history.job_openings where change = 'delete'")).toEqual(["j_2"]);
  expect(await rows("select status, company_id from company_inputs where input = 'f_2.example'")).toEqual([
    { status: "not_found", company_id: null },
  ]);
});

test("an input that the service does not know is no new company in the report", async () => {
  const rig = await startMemoryRig(aService(1), {
    DUCKMIRROR_STREAMS: STREAMS,
    DUCKMIRROR_COMPANIES: "f_1.example,nobody.example",
  });
  expect((await rig.sync()).of("companies")).toMatchObject({ inserted: 3, updated: 0 });
  expect(rig.ids("companies")).toEqual(["c_1", "c_2", "f_1"]);
  const inputs = rig.rows("company_inputs", "input").map(({ input }) => input);
  expect(inputs.filter((input) => input === "nobody.example")).toHaveLength(1);
});

test("many profiles gone at once are kept until the loss is allowed, and asked for again until then", async () => {
  const service = aService(6);
  const rig = await start(startMemoryRig, service, 6);
  service.data.companies = service.data.companies.filter(({ id }) => !String(id).startsWith("f_"));
  expect((await rig.sync({ full: true })).of("companies")).toMatchObject({ status: "failed", deleted: 0 });
  expect(rig.ids("companies").filter((id) => id.startsWith("f_"))).toHaveLength(6);
  await rig.sync({ full: true, allowMassDelete: true });
  expect(rig.ids("companies")).toEqual(["c_1", "c_2"]);
});

test("a company that accounts bring along stays, whatever its own route says", async () => {
  const service = aService(0);
  const { sync, ids: held } = await start(startMemoryRig, service, 0);
  service.answerWhere("/v1/companies/c_2", 404);
  expect((await sync({ streams: ["companies"], full: true })).error).toBeNull();
  expect(held("companies")).toEqual(["c_1", "c_2"]);
});

test("an owner whom no account has any more moves to history", async () => {
  const service = aService(0);
  service.data.accounts.push(anAccount(3, { companyId: "c_1", ownerId: "u_3" }));
  service.data.owners.push({ id: "u_3" });
  const { sync, rows } = await start(startSyncRig, service, 0);
  Object.assign(service.data.accounts[2] ?? {}, { ownerId: "u_1", updatedAt: "2027-01-01T00:00:00Z" });
  expect((await sync()).error).toBeNull();
  expect(await ids(rows, "select id from owners order by id")).toEqual(["u_1", "u_2"]);
  expect(await ids(rows, "select id from history.owners where change = 'delete'")).toEqual(["u_3"]);
});

test("a service that names no owner any more says nothing about owners", async () => {
  const service = aService(0);
  const { sync, ids: held } = await start(startMemoryRig, service, 0);
  for (const account of service.data.accounts)
    Object.assign(account, { ownerId: undefined, updatedAt: "2027-01-01T00:00:00Z" });
  await sync({ full: true });
  expect(held("owners")).toEqual(["u_1", "u_2"]);
});

const INSIGHTS = { DUCKMIRROR_STREAMS: "accounts,account_insights" };

/** Accounts, of which only the first has an insight; `statuses`: which are mirrored, by account. */
const withInsight = async (accounts: number) => {
  const data = emptyData();
  for (let id = 1; id <= accounts; id++) data.accounts.push(anAccount(id));
  data.insights["1"] = { profile: { accountId: 1 } };
  const { sync, rows } = await startMemoryRig(createFakeService(data), INSIGHTS);
  const statuses = () => {
    const found = rows("account_insights", "account_id", "status").map((row) => `${row.account_id} ${row.status}`);
    return found.sort();
  };
  return { data, sync, statuses };
};

test("an account without an insight is mirrored as such, also by a run that reads no other list", async () => {
  const { sync, statuses } = await withInsight(2);
  await sync({ streams: ["accounts"] });
  const { of } = await sync({ streams: ["account_insights"] });
  expect(of("account_insights")).toMatchObject({ complete: true, inserted: 2 });
  expect(statuses()).toEqual(["1 found", "2 not_found"]);
});

test("an insight that is missing does not replace a mirrored one while nothing shows that the tier is what it was", async () => {
  const { data, sync, statuses } = await withInsight(1);
  await sync();
  data.insights = {};
  await sync({ streams: ["account_insights"], full: true });
  expect(statuses()).toEqual(["1 found"]);
  await sync({ full: true });
  expect(statuses()).toEqual(["1 not_found"]);
});
