// Services that answer in part, or not yet: a short copy is not taken for the whole record, and an answer that lacks what was
// asked for is asked for again. Shows P4, P5 and P6.
import { expect, test } from "vitest";
import { aCompany, anOrganization } from "../../support/fake-data.ts";
import { changing, counting, createFakeService, type FakeService } from "../../support/fake-service.ts";
import { type SyncRig, startSyncRig } from "../../support/sync-rig.ts";

type Body = Record<string, unknown>;

/** A mirror after its first sync. */
const mirrored = async (service: FakeService, env: Record<string, string>) => {
  const rig = await startSyncRig(service, env);
  await rig.sync();
  return rig;
};
const shortened = ({ id, name, domain }: Body): Body => ({ id, name, domain });

/** Lists embed companies with three fields. */
const withShortCompanies = (service: FakeService): FakeService =>
  changing(service, (path, answer) => {
    const { included, ...body } = answer.body as { included?: Record<string, Body[]> };
    if (path !== "/v1/accounts" || included?.companies === undefined) return answer;
    return { ...answer, body: { ...body, included: { ...included, companies: included.companies.map(shortened) } } };
  });

const profiles = (service: FakeService) =>
  service.log.filter(({ path }) => /^\/v1\/companies\/[^/]+$/.test(path)).length;

const COMPANIES = { DUCKMIRROR_STREAMS: "accounts,companies" };

test("companies that accounts embed with three fields are read by id, and complete only then", async () => {
  const service = createFakeService(anOrganization(12));
  const { sync, rows } = await startSyncRig(withShortCompanies(service), COMPANIES);
  expect((await sync({}, { DUCKMIRROR_MAX_CREDITS: "4" })).of("companies").complete).toBe(false);
  await sync();
  expect(profiles(service)).toBe(12);
  expect(await rows("SELECT count(description)::INT AS n FROM companies")).toEqual([{ n: 12 }]);
  expect([(await sync()).complete, profiles(service)]).toEqual([true, 12]);
});

test("one profile is read where no company has a field, and none where each field is filled somewhere", async () => {
  const whole = createFakeService(anOrganization(6));
  await mirrored(whole, COMPANIES);
  expect(profiles(whole)).toBe(0);
  const data = anOrganization(6);
  data.companies = data.companies.map(({ id }) => aCompany(String(id), { fiscalYearInfo: null }));
  const lacking = createFakeService(data);
  const { sync } = await startSyncRig(lacking, COMPANIES);
  for (const _ of [1, 2, 3]) expect((await sync()).complete).toBe(true);
  expect(profiles(lacking)).toBe(1);
});

test("an insight stays when the service answers 200 with an error, and is asked for again", async () => {
  const service = createFakeService(anOrganization(3));
  const { sync, rows, clock } = await mirrored(service, { DUCKMIRROR_STREAMS: "accounts,account_insights" });
  service.answerWhere("/v1/account-insights", {
    status: 200,
    body: { status: "error", message: "upstream timed out" },
  });
  const insights = () =>
    rows("SELECT account_id, status, CAST(summary AS VARCHAR) AS summary FROM account_insights ORDER BY 1");
  const before = await insights();
  expect(before).toHaveLength(3);
  const { code, of } = await sync({ full: true });
  expect([code, of("account_insights").complete]).toEqual(["STREAMS_FAILED", false]);
  expect(await insights()).toEqual(before);
  service.answerInstead(null);
  await clock.sleep(7 * 86_400_000);
  expect((await sync()).complete).toBe(true);
  expect(await insights()).toEqual(before);
});

const CONTENT = { DUCKMIRROR_STREAMS: "signals", DUCKMIRROR_CONTENT: "fullContent" };

test("a signal whose detail answers 404 once keeps asking for its content, and is not complete without it", async () => {
  const service = createFakeService(anOrganization(3));
  const isLate = (path: string) => path === "/v1/signals/10" || path === "/v1/signals/21";
  service.answerWhere(({ path }) => isLate(path), 404);
  const { sync, rows, clock } = await startSyncRig(service, CONTENT);
  const read = async (request = {}) => {
    const { error, of, sent } = await sync(request);
    const { complete, reason } = of("signals");
    return { error, complete, reason, asked: sent.filter(({ path }) => isLate(path)).length };
  };
  const open = { error: null, complete: false, reason: "the service does not return the content of 2 signals yet" };
  expect(await read()).toEqual({ ...open, asked: 2 });
  const [second, third] = [await read(), await read()];
  expect([second, third]).toMatchObject([open, open]);
  expect(second.asked + third.asked).toBe(2);
  expect(await read({ full: true })).toEqual({ ...open, asked: 2 });
  service.answerInstead(null);
  await clock.sleep(86_400_000);
  expect(await read()).toMatchObject({ error: null, complete: true, reason: undefined });
  expect(await rows("SELECT count(*)::INT AS n FROM signals WHERE full_content IS NULL")).toEqual([{ n: 0 }]);
});

test("a signal that is gone from its list, too, holds up nothing", async () => {
  const service = createFakeService(anOrganization(3));
  service.answerWhere("/v1/signals/10", 404);
  const { sync } = await mirrored(service, CONTENT);
  service.data.signals = service.data.signals.filter(({ id }) => id !== 10);
  expect((await sync({ full: true })).of("signals")).toMatchObject({ complete: true, deleted: 1 });
});

/** The service without a company, which an account still names: it is embedded nowhere, and every route of it answers 404. */
const withoutCompany = (service: FakeService, id: string): void => {
  service.data.companies = service.data.companies.filter((company) => company.id !== id);
  delete service.data.lists[id];
};

test("a company that no account embeds any more goes after one free 404, and the others are not asked", async () => {
  const service = createFakeService(anOrganization(6));
  const { sync, rows } = await mirrored(service, { DUCKMIRROR_STREAMS: "accounts,companies,filings" });
  withoutCompany(service, "c_3");
  expect(await sync({ full: true })).toMatchObject({ error: null, complete: true });
  expect(await rows("SELECT id FROM history.companies WHERE change = 'delete'")).toEqual([{ id: "c_3" }]);
  expect(await rows("SELECT count(*)::INT AS n FROM companies")).toEqual([{ n: 5 }]);
});

test("a company that is gone takes its rows along, even if they are most of a table", async () => {
  const data = anOrganization(6);
  const calls = Array.from({ length: 40 }, (_, at) => ({ id: 1000 + at, year: 2026, quarter: 1 }));
  data.lists.c_2 = { ...data.lists.c_2, "earnings-calls": calls };
  const service = createFakeService(data, { maxPerPage: 50 });
  const { sync, rows, clock } = await mirrored(service, { DUCKMIRROR_STREAMS: "accounts,companies,earnings_calls" });
  withoutCompany(service, "c_2");
  // Not a walk of all accounts: the 404 of the company's list is what shows it.
  service.data.accounts = service.data.accounts.map((account) => ({ ...account }));
  await clock.sleep(31 * 86_400_000);
  expect((await sync({ streams: ["companies", "earnings_calls"] })).error).toBeNull();
  const left =
    "SELECT (SELECT count(*) FROM earnings_calls WHERE company_id = 'c_2')::INT AS calls, (SELECT count(*) FROM companies WHERE id = 'c_2')::INT AS companies";
  expect(await rows(left)).toEqual([{ calls: 0, companies: 0 }]);
});

const completeTables = async ({ rows }: SyncRig) => {
  const complete = "SELECT table_name AS t FROM marts.freshness WHERE complete AND row_count > 0 ORDER BY 1";
  return (await rows(complete)).map(({ t }) => t);
};
const reasonOf = async ({ rows }: SyncRig, table: string) =>
  (await rows(`SELECT reason FROM marts.freshness WHERE table_name = '${table}'`))[0]?.reason;

test("an owner whom no account brings along any more is not complete, and goes after a second walk", async () => {
  const service = createFakeService(anOrganization(6));
  const rig = await mirrored(service, { DUCKMIRROR_STREAMS: "accounts" });
  expect(await completeTables(rig)).toEqual(["accounts", "owners"]);
  // Accounts still name the owner; there is no route to ask for it.
  service.data.owners = service.data.owners.filter(({ id }) => id !== "u_1");
  await rig.sync({ full: true });
  expect(await completeTables(rig)).toEqual(["accounts"]);
  expect(await reasonOf(rig, "owners")).toMatch(/no account brings 1 owners along/);
  // A reading of changes proves nothing.
  await rig.sync();
  expect(await rig.rows("SELECT count(*)::INT AS n FROM owners")).toEqual([{ n: 3 }]);
  await rig.sync({ full: true });
  expect(await rig.rows("SELECT id FROM history.owners WHERE change = 'delete'")).toEqual([{ id: "u_1" }]);
  expect(await completeTables(rig)).toEqual(["accounts", "owners"]);
});

test("an owner who is back, and a service that embeds none, remove nobody", async () => {
  const service = createFakeService(anOrganization(6));
  const rig = await mirrored(service, { DUCKMIRROR_STREAMS: "accounts" });
  const { owners } = service.data;
  service.data.owners = owners.filter(({ id }) => id !== "u_1");
  await rig.sync({ full: true });
  service.data.owners = owners;
  await rig.sync({ full: true });
  expect(await completeTables(rig)).toEqual(["accounts", "owners"]);
  service.data.owners = [];
  await rig.sync({ full: true });
  await rig.sync({ full: true });
  expect(await rig.rows("SELECT count(*)::INT AS n FROM owners")).toEqual([{ n: 3 }]);
});

test("tables below accounts that are not confirmed are not complete either", async () => {
  let more = 0;
  const service = counting(createFakeService(anOrganization(6)), (count, path) =>
    path === "/v1/accounts" ? count + more : count,
  );
  const rig = await mirrored(service, { DUCKMIRROR_STREAMS: "accounts,companies,filings,contacts,account_insights" });
  expect(await completeTables(rig)).toContain("filings");
  // The service counts an account more than it returns.
  more = 1;
  await rig.sync({ full: true });
  expect(await completeTables(rig)).toEqual(["contacts"]);
  expect(await reasonOf(rig, "filings")).toMatch(/^accounts are not confirmed: /);
});
