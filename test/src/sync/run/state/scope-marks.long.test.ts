// The setting `scope`: lists are read with the service's filters, rows outside are marked and never deleted.
import { expect, test } from "vitest";
import { aCompany, aContact, aJob, anAccount, aSignal } from "../../../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeOptions } from "../../../../support/fake-service.ts";
import { type SyncRig, simulatedClock, startSyncRig } from "../../../../support/sync-rig.ts";

const DAY_MS = 86_400_000;
const TYPES = ["customer", "prospect", "churned"];

const start = async (options: FakeOptions = {}) => {
  const service = createFakeService(emptyData(), { maxPerPage: 10, overPage: "honest", ...options });
  for (let id = 1; id <= 30; id++) {
    service.data.accounts.push(anAccount(id, { type: TYPES[id % 3] }));
    service.data.companies.push(aCompany(`c_${id}`));
    service.data.lists[`c_${id}`] = { "job-openings": [aJob(`j_${id}`)] };
    service.data.signals.push(aSignal(id, { accountId: id, type: id % 2 === 0 ? "podcast" : "funding-alert" }));
    service.data.contacts.push(aContact(`p_${id}`, { accountId: id, type: id % 2 === 0 ? "champion" : "prospect" }));
    service.data.insights[String(id)] = {};
  }
  const rig = await startSyncRig(service, {}, simulatedClock());
  const sync = async (scope: object, request: Parameters<SyncRig["sync"]>[0] = {}, env = {}) => {
    const synced = await rig.sync(request, { DUCKMIRROR_SCOPE: JSON.stringify(scope), ...env });
    const lists = synced.report.streams.filter(({ stream }) => LISTS.includes(stream));
    return { ...synced, complete: lists.every((stream) => stream.complete) };
  };
  const ids = async (table: string, inScope = true) =>
    (await rig.rows(`select id from ${table} where _in_scope = ${inScope} order by id`)).map(({ id }) => id);
  const there = (test: (row: Record<string, unknown>) => boolean, table: "accounts" | "contacts" | "signals") =>
    service.data[table]
      .filter(test)
      .map(({ id }) => id)
      .sort((a, b) => (a < b ? -1 : 1));
  return { service, rig, clock: rig.clock, sync, ids, there };
};
const LISTS = ["accounts", "contacts", "signals"];

const isCustomer = ({ type }: Record<string, unknown>) => type === "customer";

test("only accounts inside are read, and insights and company lists only of them", async () => {
  const { sync, ids, there, rig } = await start();
  const lists = ["accounts", "contacts", "signals", "account_insights", "job_openings"];
  const { sent, error, complete } = await sync({ accounts: { type: ["customer"] } }, { streams: lists });
  expect([error, complete]).toEqual([null, true]);
  expect(await ids("accounts")).toEqual(there(isCustomer, "accounts"));
  expect(await rig.rows("select count(*) n from accounts")).toEqual([{ n: 10 }]);
  expect(sent.filter(({ path }) => path === "/v1/account-insights")).toHaveLength(10);
  expect(sent.filter(({ path }) => path.endsWith("/job-openings"))).toHaveLength(10);
  expect(sent.filter(({ path }) => path === "/v1/accounts").every(({ query }) => query.type === "customer")).toBe(true);
  // Nothing changed: one look at each list.
  const again = await sync({ accounts: { type: ["customer"] } }, { streams: LISTS });
  expect(again.sent).toHaveLength(3);
});

test("filters that only the service can judge: text, signals of a type after a date", async () => {
  const { sync, ids } = await start();
  await sync({}, { streams: ["accounts"] });
  const scope = { accounts: { text: "Account 2", signals_of_type: ["podcast"], signals_after: "2026-01-05" } };
  const { complete, sent } = await sync(scope, { streams: ["accounts"] });
  expect(complete).toBe(true);
  expect(sent[0]?.query).toMatchObject({ textQuery: "Account 2", hasSignalsOfType: "podcast" });
  expect(await ids("accounts")).toEqual([20, 22, 24, 26, 28]);
  expect((await sync(scope, { streams: ["accounts"] })).sent).toHaveLength(1);
});

test("full content is fetched only of the signals that the scope names", async () => {
  const { service, sync, rig } = await start();
  for (const signal of service.data.signals) signal.fullContent = `All of ${signal.id}`;
  const content = { type: ["podcast"], accounts: [2, 4, 5, 28], since: "2026-01-04" };
  const scope = { content: { "signals.fullContent": content } };
  const env = { DUCKMIRROR_SCOPE: JSON.stringify(scope), DUCKMIRROR_CONTENT: "fullContent" };
  await rig.sync({ streams: ["accounts", "signals"] }, env);
  await rig.sync({ streams: ["signals"] }, env);
  expect((await sync(scope, { streams: ["signals"] })).error).toBeNull();
  const filled = await rig.rows("select id from signals where full_content is not null order by id");
  expect(filled).toEqual([{ id: 4 }, { id: 28 }]);
});

test("--erase moves rows outside to history, and later syncs neither miss nor bring them", async () => {
  const { sync, rig } = await start();
  const request = { streams: LISTS };
  await sync({}, request);
  const scope = { contacts: { type: ["champion"] } };
  const { complete } = await sync(scope, { ...request, eraseOutside: true });
  expect(complete).toBe(true);
  expect(await rig.rows("select count(*) n from contacts")).toEqual([{ n: 15 }]);
  expect(await rig.rows("select count(*) n, any_value(change) c from history.contacts")).toEqual([
    { n: 15, c: "delete" },
  ]);
  expect((await sync(scope, request)).sent).toHaveLength(3);
});

test("--erase before a wider scope is read removes no row that it names", async () => {
  const { sync, ids, rig } = await start();
  const request = { streams: ["accounts", "signals"] };
  await sync({}, request);
  await sync({ signals: { type: ["podcast"] } }, request);
  const wider = { signals: { type: ["funding-alert", "podcast"] } };
  const { report } = await sync(wider, { streams: ["accounts"], eraseOutside: true });
  expect(report.streams.map(({ deleted }) => deleted)).toEqual([0]);
  expect(await rig.rows("select count(*) n from history.signals where change = 'delete'")).toEqual([{ n: 0 }]);
  expect((await sync(wider, request)).complete).toBe(true);
  expect(await ids("signals", false)).toEqual([]);
});

test("insights, companies and their lists follow their accounts: outside they stay, marked and uncounted, until --erase", async () => {
  const { clock, sync, rig } = await start();
  const request = { streams: ["accounts", "account_insights", "job_openings"] };
  await sync({}, request);
  await clock.sleep(60 * DAY_MS);
  const scope = { accounts: { type: ["customer"] } };
  const { error, sent, report } = await sync(scope, request);
  expect([error, report.streams.filter(({ complete }) => !complete)]).toEqual([null, []]);
  // Nothing is read for an account outside, and nothing of it counts as old or missing.
  expect(sent.filter(({ path }) => path !== "/v1/accounts")).toHaveLength(20);
  const followed =
    "select table_name t, scopes from marts.freshness where table_name in ('account_insights', 'job_openings')";
  expect((await rig.rows(`${followed} order by t`)).map(({ scopes }) => Number(scopes))).toEqual([10, 10]);
  const counts = (table: string) =>
    rig.rows(`select count(*) n, count(*) filter (_in_scope) i from ${table}`).then(([row]) => [row?.n, row?.i]);
  const tables = ["account_insights", "companies", "job_openings"];
  for (const table of tables) expect(await counts(table), table).toEqual([30, 10]);
  const wrong =
    "select count(*) n from account_insights t join accounts a on a.id = t.account_id where t._in_scope <> a._in_scope";
  expect(await rig.rows(wrong)).toEqual([{ n: 0 }]);
  await sync(scope, { ...request, eraseOutside: true });
  for (const table of tables) expect(await counts(table), table).toEqual([10, 10]);
  expect(await rig.rows("select count(*) n from history.job_openings where change = 'delete'")).toEqual([{ n: 20 }]);
  // A wider scope reads again what was erased, and marks it as inside.
  const wide = await sync({}, request);
  expect([wide.error, wide.report.streams.filter(({ complete }) => !complete)]).toEqual([null, []]);
  for (const table of tables) expect(await counts(table), table).toEqual([30, 30]);
});

test("a company that is followed no more is marked, and inside again when it is followed again", async () => {
  const { service, sync, rig } = await start();
  service.data.companies.push(aCompany("c_extra"));
  service.data.lists.c_extra = { "job-openings": [aJob("j_extra")] };
  const request = { streams: ["companies", "job_openings"] };
  const marks = async () =>
    (await rig.rows("select _in_scope m from companies union all select _in_scope m from job_openings")).map(
      ({ m }) => m,
    );
  await sync({}, request, { DUCKMIRROR_COMPANIES: "c_extra" });
  expect(await marks()).toEqual([true, true]);
  await sync({}, request);
  expect(await marks()).toEqual([false, false]);
  await sync({}, request, { DUCKMIRROR_COMPANIES: "c_extra" });
  expect(await marks()).toEqual([true, true]);
});

test.each(["ignore", "refuse"] as const)(
  "filters that the service does not take (%s): whole lists are read, rows outside marked, and it is remembered",
  async (filters) => {
    const { service, clock, sync, ids, there, rig } = await start({ filters });
    for (const { ownerId } of service.data.accounts) service.data.owners.push({ id: String(ownerId) });
    const scope = { accounts: { type: ["customer"] } };
    const first = await sync(scope, { streams: ["accounts", "account_insights"] });
    expect(first.error).toBeNull();
    // Sorting and embedding were not at fault, so they are used again.
    const paid = first.sent.filter(({ path, status }) => path === "/v1/accounts" && status === 200);
    expect(paid.every(({ query }) => query.sortBy === "id" && query.include === "company,owner")).toBe(true);
    const second = await sync(scope, { streams: ["accounts", "account_insights"] });
    expect([second.error, second.complete, second.sent.map(({ status }) => status)]).toEqual([null, true, [200]]);
    expect([await ids("accounts"), (await ids("accounts", false)).length]).toEqual([there(isCustomer, "accounts"), 20]);
    expect(await rig.rows("select count(*) n from account_insights")).toEqual([{ n: 10 }]);
    await clock.sleep(DAY_MS);
    const gone = service.data.accounts.splice(4, 1)[0]?.id;
    expect((await sync(scope, { streams: ["accounts"] })).complete).toBe(true);
    expect(await rig.rows(`select change from history.accounts where id = ${gone}`)).toEqual([{ change: "delete" }]);
  },
);

test("companies.accounts_only: a followed company without an account is neither resolved nor read", async () => {
  const { service, sync, rig } = await start();
  const extra = "c_extra";
  service.data.companies.push(aCompany(extra));
  service.data.lists[extra] = { "job-openings": [aJob("j_extra")] };
  const env = { DUCKMIRROR_COMPANIES: extra };
  const scope = { accounts: { type: ["customer"] }, companies: { accounts_only: true } };
  const { error, sent } = await sync(scope, {}, env);
  expect(error).toBeNull();
  expect(sent.filter(({ path }) => path.includes(extra))).toEqual([]);
  expect(await rig.rows("select count(distinct company_id) n from job_openings")).toEqual([{ n: 10 }]);
  const both = await sync({ accounts: { type: ["customer"] } }, {}, env);
  expect(both.sent.some(({ path }) => path === `/v1/companies/by-input/${extra}`)).toBe(true);
  expect(await rig.rows("select count(distinct company_id) n from job_openings")).toEqual([{ n: 11 }]);
});

test("a scope without any account is no organization without Full Access", async () => {
  const { sync, rig } = await start();
  const first = await sync({ accounts: { type: ["competitor"] } });
  expect(first.error).toBeNull();
  expect(first.sent.map(({ path }) => path)).toContain("/v1/contacts");
  expect(await rig.rows("select count(*) n from signals")).toEqual([{ n: 30 }]);
});
