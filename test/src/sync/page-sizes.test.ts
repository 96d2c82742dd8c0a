// Page sizes in whole syncs: what one list does makes no other cost more, and a refused page is not asked for in every form.
import { expect, test } from "vitest";
import { aJob, anOrganization } from "../../support/fake-data.ts";
import { counting, createFakeService, type FakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

/** An organization whose companies have so many job openings. */
const withJobs = (companies: number, openings: (company: string) => number) => {
  const data = anOrganization(companies);
  for (const [company, lists] of Object.entries(data.lists))
    lists["job-openings"] = Array.from({ length: openings(company) }, (_, n) => aJob(`${company}-${n}`));
  return data;
};
const jobsOf = (company: string) => `/v1/companies/${company}/job-openings`;

test("a list that counts a record which it never returns makes no other list cost more", async () => {
  const service = createFakeService(
    withJobs(4, (company) => (company === "c_1" ? 3 : 60)),
    { maxPerPage: 50, overPage: "honest" },
  );
  const { sync } = await startMemoryRig(counting(service, (count, path) => (path === jobsOf("c_1") ? 4 : count)));
  await sync({ streams: ["accounts"] });
  for (const full of [false, true]) {
    const { error, sent, of } = await sync({ streams: ["job_openings"], full });
    expect(error).toBeNull();
    expect(of("job_openings")).toMatchObject({ complete: false, unconfirmed: 1 });
    // Sixty rows of three companies: two pages each.
    expect(sent.filter(({ path }) => path !== jobsOf("c_1")).length).toBeLessThanOrEqual(6);
  }
});

test("a company's list that fails in the size of its stream fails alone, labelled, and is asked for in no smaller pages", async () => {
  const service = createFakeService(
    withJobs(3, () => 60),
    { maxPerPage: 50 },
  );
  service.answerWhere(({ path, query }) => path === jobsOf("c_3") && Number(query.perPage) > 20, 500);
  const { sync, rows } = await startMemoryRig(service);
  await sync({ streams: ["accounts"] });
  for (const full of [false, true]) {
    const { code, of } = await sync({ streams: ["job_openings"], full });
    expect(code).toBe("STREAMS_FAILED");
    expect(of("job_openings")).toMatchObject({ complete: false, status: "failed" });
  }
  const companies = rows("job_openings", "company_id").map((row) => row.company_id);
  expect(new Set(companies)).toEqual(new Set(["c_1", "c_2"]));
  const sizes = service.log.filter(({ path }) => path === jobsOf("c_3")).map(({ query }) => Number(query.perPage));
  expect(Math.min(...sizes)).toBeGreaterThan(20);
});

test.each(["c_1", "c_4"])(
  "the list of %s of four that is refused in every form costs no other list more, and itself no more once it is returned",
  async (company) => {
    const data = withJobs(4, () => 60);
    const service = createFakeService(data, { maxPerPage: 50 });
    const { sync } = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,job_openings" });
    const paid = (sent: FakeService["log"], wanted: string) =>
      sent.filter(({ path, status }) => path === wanted && status === 200);
    const refuse = () => service.answerWhere(({ path }) => path === jobsOf(company) || path === "/v1/contacts", 422);
    refuse();
    const first = await sync();
    expect(first.error?.exitCode).toBe(5);
    for (const each of Object.keys(data.lists))
      expect(paid(first.sent, jobsOf(each))).toHaveLength(each === company ? 0 : 2);
    service.answerInstead(null);
    const second = await sync();
    expect(second).toMatchObject({ error: null, complete: true });
    expect([jobsOf(company), "/v1/contacts"].map((path) => paid(second.sent, path).length)).toEqual([2, 1]);
    // Known lists: a refusal of changes leaves nothing behind either.
    refuse();
    expect((await sync({ full: true })).error?.exitCode).toBe(5);
    service.answerInstead(null);
    const healed = await sync();
    expect(healed.error).toBeNull();
    expect(paid(healed.sent, "/v1/contacts").filter(({ query }) => Number(query.perPage) < 20)).toEqual([]);
    expect(paid(healed.sent, jobsOf(company)).length).toBeLessThanOrEqual(2);
  },
);

test("an insight that is refused in every form leaves the others asked for as they were", async () => {
  const queries = async (refuse: boolean) => {
    const service = createFakeService(anOrganization(6));
    const isFirst = ({ query }: { readonly query: Readonly<Record<string, string>> }) => query.accountId === "1";
    service.answerWhere((request) => refuse && isFirst(request), 422);
    const { sync } = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,account_insights" });
    await sync();
    await sync({ streams: ["account_insights"], full: true });
    return service.log
      .filter((request) => request.path === "/v1/account-insights" && !isFirst(request))
      .map(({ query }) => query)
      .sort((a, b) => Number(a.accountId) - Number(b.accountId));
  };
  expect(await queries(true)).toEqual(await queries(false));
});

test("a service that shows no page behind some row, and no part of a list, is not asked for it in every form, and the list fails", async () => {
  const service = createFakeService(anOrganization(15), { maxPerPage: 10 });
  service.answerWhere(
    ({ query: { page, perPage, beforeDate } }) =>
      beforeDate !== undefined || (Number(page) > 1 && Number(page) * Number(perPage) > 40),
    { status: 400, body: '{"error":"Result window is too large"}' },
  );
  const { sync } = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "signals" });
  const [first, second] = [await sync(), await sync()];
  // 90 signals: four pages, and those behind them, which were requested side by side.
  const refused = first.sent.filter(({ status, query }) => status === 400 && Number(query.page) > 1);
  expect(refused.length).toBeLessThanOrEqual(2 * 5);
  expect(second.sent.length).toBeLessThanOrEqual(6);
  for (const { error, of } of [first, second]) {
    expect(error?.exitCode).toBe(5);
    expect(of("signals")).toMatchObject({ status: "failed", complete: false, unconfirmed: 50 });
    expect(of("signals").error).toContain("Result window is too large");
  }
});
