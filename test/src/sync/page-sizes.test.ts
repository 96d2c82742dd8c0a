// Page sizes in whole syncs: what one list does makes no other cost more, and a refused page is not asked for in every form.
import { expect, test } from "vitest";
import { anOrganization } from "../../support/fake-data.ts";
import { createFakeService, type FakeOptions } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";
import { startSyncRig } from "../../support/sync-rig.ts";

test("a list that counts a record which it never returns makes no other list cost more", async () => {
  const organization = anOrganization(4);
  const ghost = Object.keys(organization.lists)[0] ?? "";
  const job = (company: string, n: number) => ({
    id: `${company}-${n}`,
    url: "https://jobs.example",
    postedOn: "2026-11-01",
  });
  for (const [company, lists] of Object.entries(organization.lists)) {
    lists["job-openings"] = Array.from({ length: company === ghost ? 3 : 60 }, (_, n) => job(company, n));
  }
  const rows = organization.lists[ghost]?.["job-openings"] ?? [];
  const before: FakeOptions["before"] = ({ path, query }) => {
    if (path !== `/v1/companies/${ghost}/job-openings`) return undefined;
    const [page, perPage] = [Number(query.page), Math.min(50, Number(query.perPage))];
    const meta = { requestId: "r", apiVersion: "1", timestamp: "2026-11-21T10:00:00Z", page, perPage, totalCount: 4 };
    return { status: 200, body: { data: rows.slice((page - 1) * perPage, page * perPage), meta } };
  };
  const service = createFakeService(organization, { maxPerPage: 50, overPage: "honest", before });
  const rig = await startMemoryRig(service);
  await rig.sync({ streams: ["accounts"] });
  for (const full of [false, true]) {
    const earlier = service.log.length;
    const { error, report } = await rig.sync({ streams: ["job_openings"], full });
    expect(error).toBeNull();
    expect(report.streams).toMatchObject([{ stream: "job_openings", complete: false, unconfirmed: 1 }]);
    const asked = service.log.slice(earlier).filter(({ path }) => !path.includes(ghost));
    // Sixty rows of three companies: two pages each.
    expect(asked.map(({ path }) => path).length).toBeLessThanOrEqual(6);
  }
});

test("a company's list that fails in the size of its stream fails alone, labelled, and is asked for in no smaller pages", async () => {
  const organization = anOrganization(3);
  const [first, second, failing = ""] = Object.keys(organization.lists);
  for (const lists of Object.values(organization.lists)) {
    const rows = Array.from({ length: 60 }, (_, n) => ({
      id: `j${n}`,
      url: "https://jobs.example",
      postedOn: "2026-11-01",
    }));
    lists["job-openings"] = rows;
  }
  const before: FakeOptions["before"] = ({ path, query }) =>
    path === `/v1/companies/${failing}/job-openings` && Number(query.perPage) > 20
      ? { status: 500, body: "" }
      : undefined;
  const service = createFakeService(organization, { maxPerPage: 50, overPage: "refuse", before });
  const rig = await startMemoryRig(service);
  await rig.sync({ streams: ["accounts"] });
  for (const full of [false, true]) {
    const { error, report } = await rig.sync({ streams: ["job_openings"], full });
    expect(error?.code).toBe("STREAMS_FAILED");
    expect(report.streams).toMatchObject([{ stream: "job_openings", complete: false, status: "failed" }]);
  }
  const companies = rig.rows("job_openings", "company_id").map((row) => row.company_id);
  expect(new Set(companies)).toEqual(new Set([first, second]));
  const sizes = service.log
    .filter(({ path }) => path.includes(failing))
    .map(({ query }) => Number(query.perPage ?? 50));
  expect(Math.min(...sizes)).toBeGreaterThan(20);
});

test.each([0, 1, 2, 3])(
  "list %i of four that is refused in every form costs no other list more, and itself no more once it is returned",
  async (nth) => {
    const organization = anOrganization(4);
    const refusedCompany = Object.keys(organization.lists)[nth] ?? "";
    for (const [company, lists] of Object.entries(organization.lists)) {
      lists["job-openings"] = Array.from({ length: 60 }, (_, n) => ({
        id: `${company}-${n}`,
        url: "https://jobs.example",
        postedOn: "2026-11-01",
      }));
    }
    let refused = true;
    const service = createFakeService(organization, {
      maxPerPage: 50,
      overPage: "refuse",
      before: ({ path }) =>
        refused && (path === `/v1/companies/${refusedCompany}/job-openings` || path === "/v1/contacts")
          ? { status: 422, body: "" }
          : undefined,
    });
    const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,job_openings" });
    const paid = (from: number) => service.log.slice(from).filter(({ status }) => status === 200);
    const isOf = (company: string) => (entry: { readonly path: string }) => entry.path.includes(company);
    expect((await rig.sync()).error?.exitCode).toBe(5);
    for (const company of Object.keys(organization.lists).filter((each) => each !== refusedCompany)) {
      expect(paid(0).filter(isOf(company)).length).toBe(2);
    }
    const earlier = service.log.length;
    refused = false;
    const { error, report } = await rig.sync();
    expect(error).toBeNull();
    expect(report.streams.map(({ complete }) => complete)).toEqual([true, true, true]);
    expect(paid(earlier).filter(isOf(refusedCompany)).length).toBe(2);
    expect(paid(earlier).filter(isOf("/v1/contacts")).length).toBe(1);
    // Known lists: a refusal of changes leaves nothing behind either.
    refused = true;
    expect((await rig.sync({ full: true })).error?.exitCode).toBe(5);
    refused = false;
    const healed = service.log.length;
    expect((await rig.sync()).error).toBeNull();
    expect(
      paid(healed)
        .filter(isOf("/v1/contacts"))
        .every(({ query }) => Number(query.perPage) >= 20),
    ).toBe(true);
    expect(paid(healed).filter(isOf(refusedCompany)).length).toBeLessThanOrEqual(2);
  },
);

test("an insight that is refused in every form leaves the others asked for as they were", async () => {
  const queries = async (refuse: boolean) => {
    const organization = anOrganization(6);
    const [first] = organization.accounts;
    const service = createFakeService(organization, {
      before: ({ path, query }) =>
        refuse && path === "/v1/account-insights" && query.accountId === String(first?.id)
          ? { status: 422, body: "" }
          : undefined,
    });
    const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,account_insights" });
    await rig.sync();
    await rig.sync({ streams: ["account_insights"], full: true });
    return service.log
      .filter(({ path, query }) => path === "/v1/account-insights" && query.accountId !== String(first?.id))
      .map(({ query }) => query)
      .sort((a, b) => Number(a.accountId) - Number(b.accountId));
  };
  expect(await queries(true)).toEqual(await queries(false));
});

test("a service that shows no page behind some row, and no part of a list, is not asked for it in every form, and the list fails", async () => {
  const service = createFakeService(anOrganization(15), {
    maxPerPage: 10,
    before: ({ path, query }) =>
      path === "/v1/signals" &&
      (query.beforeDate !== undefined || (Number(query.page) * Number(query.perPage) > 40 && Number(query.page) > 1))
        ? { status: 400, body: '{"error":"Result window is too large"}' }
        : undefined,
  });
  const rig = await startSyncRig(service, { DUCKMIRROR_STREAMS: "signals" });
  const first = await rig.sync();
  // 90 signals: four pages, and those behind them, which were requested side by side.
  const refused = service.log.filter(({ status, query }) => status === 400 && Number(query.page) > 1);
  expect(refused.length).toBeLessThanOrEqual(2 * 5);
  const after = service.log.length;
  const second = await rig.sync();
  expect(service.log.length - after).toBeLessThanOrEqual(6);
  for (const { error, report } of [first, second]) {
    expect(error?.exitCode).toBe(5);
    expect(report.streams[0]).toMatchObject({ status: "failed", complete: false, unconfirmed: 50 });
    expect(report.streams[0]?.error).toContain("Result window is too large");
  }
});
