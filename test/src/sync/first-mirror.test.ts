// The first mirror, and an unchanged sync after it, of services that differ. Shows P16 and P23.
import { expect, test } from "vitest";
import { anOrganization } from "../../support/fake-data.ts";
import { changing, createFakeService, type FakeOptions, type FakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

/** Rows of each table for six accounts. */
const SIX = {
  ...{ accounts: 6, contacts: 24, signals: 36, companies: 6, owners: 3, news_articles: 12, job_openings: 18 },
  ...{ earnings_calls: 3, filings: 3, account_insights: 6 },
};
const LISTS = ["news_articles", "job_openings", "earnings_calls", "filings"] as const;
const TABLES = ["accounts", "contacts", "signals", "companies", "owners", ...LISTS, "account_insights"] as const;

const inMemory = async (service: FakeService, env: Record<string, string> = {}) => {
  const rig = await startMemoryRig(service, env);
  const counts = () => Object.fromEntries(TABLES.map((table) => [table, rig.rows(table).length]));
  return { ...rig, counts };
};

const mirrored = async (service: FakeService) => {
  const rig = await inMemory(service);
  const { report, error } = await rig.sync();
  expect([error, report.status]).toEqual([null, "done"]);
  expect(rig.counts()).toEqual(SIX);
  return rig;
};

test("a first mirror of an unchanged source spends one credit per page and fetches no page twice", async () => {
  const service = createFakeService(anOrganization(6), { maxPerPage: 10, credits: 1000 });
  await mirrored(service);
  const paid = service.log.filter(({ status }) => status === 200);
  const history = paid.filter(({ path }) => path === "/v1/usage/requests").length;
  // accounts 1, contacts 3, signals 4, counts 1, four lists and one insight for each of six companies, usage and limits 2.
  expect(paid.length - history).toBe(1 + 3 + 4 + 1 + 24 + 6 + 2);
  // The request history grows by the requests that read it.
  expect(history).toBeLessThanOrEqual(Math.ceil(service.log.length / 10));
  expect(new Set(paid.map(({ path, query }) => `${path}?${new URLSearchParams(query)}`)).size).toBe(paid.length);
});

test("a second sync right after a complete one costs one credit per organization list and none per company", async () => {
  const { sync } = await mirrored(createFakeService(anOrganization(6), { maxPerPage: 10, credits: 1000 }));
  const { report, sent } = await sync();
  expect(sent.map(({ path }) => path)).toEqual(["/v1/accounts", "/v1/contacts", "/v1/signals"]);
  expect(report.streams.filter((stream) => stream.inserted + stream.updated + stream.deleted > 0)).toEqual([]);
});

test.each<[string, FakeOptions]>([
  ["ignores sorting", { maxPerPage: 10, sort: "ignore" }],
  ["refuses sorting", { maxPerPage: 10, sort: "refuse" }],
  ["clamps pages silently to 4 rows but computes offsets from what was asked", { maxPerPage: 4, overPage: "clamp" }],
  ["clamps pages and says so", { maxPerPage: 4, overPage: "honest" }],
  ["embeds maps by id", { included: "object-map" }],
  ["embeds arrays under singular names", { included: "singular-array" }],
  ["never gives totalCount", { maxPerPage: 10, totals: false }],
  ["clamps pages silently and never gives totalCount", { maxPerPage: 20, overPage: "clamp", totals: false }],
  ["clamps pages silently to 12 rows and counts nothing", { maxPerPage: 12, overPage: "clamp", totals: false }],
  ["clamps pages silently to 1 row and counts nothing", { maxPerPage: 1, overPage: "clamp", totals: false }],
  ["clamps pages, says so, and never gives totalCount", { maxPerPage: 20, overPage: "honest", totals: false }],
])("a service that %s is mirrored completely", async (_, options) => {
  await mirrored(createFakeService(anOrganization(6), options));
});

test.each<[string, FakeOptions]>([
  ["refuses to embed", { maxPerPage: 10, included: "refuse" }],
  ["embeds nothing although asked", { maxPerPage: 10, included: "none" }],
  ["embeds a single object", { included: "single" }],
])("of a service that %s, companies are fetched one by one", async (_, options) => {
  const { sync, counts } = await inMemory(createFakeService(anOrganization(6), options));
  expect((await sync()).error).toBeNull();
  // Owners exist only embedded.
  const { owners: _owners, ...others } = SIX;
  expect(counts()).toMatchObject(others);
});

test("a count of -1 counts nothing: each list is read to its end", async () => {
  const uncounted = changing(createFakeService(anOrganization(6), { maxPerPage: 10 }), (_, answer) => {
    const { meta, ...body } = answer.body as { meta?: object };
    return meta === undefined || !("totalCount" in meta)
      ? answer
      : { ...answer, body: { ...body, meta: { ...meta, totalCount: -1, totalPages: -1 } } };
  });
  await mirrored(uncounted);
});

test("an organization without Full Access mirrors the companies it follows", async () => {
  const full = anOrganization(2);
  const service = createFakeService({ ...full, accounts: [], contacts: [], signals: [], insights: {} });
  const rig = await inMemory(service, { DUCKMIRROR_COMPANIES: "c_1.example,c_2,unknown.example" });
  const { error } = await rig.sync();
  expect(error).toBeNull();
  // One credit finds out that the lists of Full Access are empty.
  const workspace = /accounts|contacts|signals|account-insights/;
  expect(service.log.filter(({ path }) => workspace.test(path)).map(({ path }) => path)).toEqual(["/v1/accounts"]);
  const inputs = rig.rows("company_inputs", "input", "company_id", "status");
  expect(inputs.toSorted((a, b) => String(a.input).localeCompare(String(b.input)))).toEqual([
    { input: "c_1.example", company_id: "c_1", status: "found" },
    { input: "c_2", company_id: "c_2", status: "found" },
    { input: "unknown.example", company_id: null, status: "not_found" },
  ]);
  expect(rig.rows("job_openings")).toHaveLength(6);
  expect((await rig.sync()).sent).toEqual([]);
});

test.each([
  [400, "accounts", "/v1/accounts", 6],
  [404, "news_articles", "/v1/companies/c_1/news-articles", 6],
  // Pages of two rows share none.
  [404, "accounts", "/v1/accounts", 2],
])(
  "without counts, a refusal (%i) after the last row of %s ends the list, unconfirmed",
  async (status, name, list, accounts) => {
    const data = anOrganization(accounts);
    const length = name === "accounts" ? accounts : 2;
    const service = createFakeService(data, { maxPerPage: 10, overPage: "clamp", totals: false });
    service.answerWhere(
      ({ path, query: { page, perPage } }) =>
        path === list && Number(page) > 1 && Number(page) * Number(perPage) > length,
      status,
    );
    const rig = await inMemory(service);
    const rows = { accounts, news_articles: 2 * accounts, job_openings: 3 * accounts, account_insights: accounts };
    for (const full of [false, true, false]) {
      const { of, error } = await rig.sync({ full });
      expect([error, of(name).complete]).toEqual([null, false]);
      expect(rig.counts()).toMatchObject(rows);
    }
    expect(service.log.filter(({ path, status: answered }) => path === list && answered === status)).not.toEqual([]);
  },
);

test("without counts, a 404 to a page within a list of the organization fails its stream and deletes nothing", async () => {
  const service = createFakeService(anOrganization(6), { maxPerPage: 10, overPage: "clamp", totals: false });
  const { sync, counts } = await mirrored(service);
  service.answerWhere(({ path, query }) => path === "/v1/contacts" && Number(query.page) === 1, 404);
  const { error } = await sync({ full: true });
  expect([error?.code, error?.context.streams]).toEqual(["STREAMS_FAILED", "contacts"]);
  expect(counts()).toEqual(SIX);
});

test("without usage routes all else is mirrored, and the error is no doubt about the address", async () => {
  const service = createFakeService(anOrganization(3), { maxPerPage: 50 });
  service.answerWhere(/^\/v1\/usage/, { status: 404, body: { message: "no route" } });
  const rig = await inMemory(service);
  const { of, error } = await rig.sync();
  expect(error).toMatchObject({ code: "STREAMS_FAILED", exitCode: 5, context: { streams: "usage" } });
  expect(of("usage").error).toMatch(/^ROUTE_MISSING: .*status 404, .*no route/);
  expect(JSON.stringify(rig.events)).toContain("leave its stream out of the setting `streams`");
});

test("a service that refuses to group its usage is asked without", async () => {
  const service = createFakeService(anOrganization(1));
  service.answerWhere(({ path, query }) => path === "/v1/usage" && query.groupBy !== undefined, 400);
  const rig = await inMemory(service);
  expect((await rig.sync()).error).toBeNull();
  expect(rig.rows("usage_snapshots", "source").filter(({ source }) => source === "usage")).toHaveLength(1);
});
