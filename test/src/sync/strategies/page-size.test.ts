// The page size that is remembered for a stream: only one that something proves (docs/decisions/0140).
import { expect, test } from "vitest";
import { isOtherPage, provenPageSize } from "../../../../src/sync/strategies/page-size.ts";
import { acceptRead } from "../../../../src/sync/strategies/progress.ts";
import { startWalk } from "../../../../src/sync/strategies/walk.ts";
import { afterTest } from "../../../support/after-test.ts";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeOptions } from "../../../support/fake-service.ts";
import { startSyncRig } from "../../../support/sync-rig.ts";

const cover = (page: number, perPage: number) => ({ page, perPage, role: "cover" as const });
const start = () => startWalk({ size: 100, overlap: false, proof: "identity" });
const first = { request: cover(1, 100), rows: 3, total: 4, saysPerPage: 100, granted: 3 };
const afterFirst = () => acceptRead(start(), { ...cover(1, 100), ids: ["a", "b", "c"], rows: 3, values: [], total: 4 });

test("a short first page proves no size, unless the service names it", () => {
  expect(provenPageSize(start(), first)).toBeNull();
  expect(provenPageSize(start(), { ...first, saysPerPage: null })).toBeNull();
  expect(provenPageSize(start(), { ...first, saysPerPage: 3 })).toBe(3);
});

test("rows behind a short first page prove its size; an empty page there, or known rows, do not", () => {
  const second = { ...first, request: cover(2, 3), rows: 1, saysPerPage: 3 };
  expect(provenPageSize(afterFirst(), second)).toBe(3);
  expect(provenPageSize(afterFirst(), { ...second, rows: 0 })).toBeNull();
  expect(provenPageSize(afterFirst(), { ...second, request: cover(2, 2), rows: 1 })).toBeNull();
});

test("no size below that of another page of the run is proven", () => {
  expect(provenPageSize(start(), { ...first, saysPerPage: 3, granted: 60 })).toBe(60);
});

test("a smaller page that is cut although more rows follow is a page of another size", () => {
  const request = { page: 2, perPage: 99, role: "cover" } as const;
  const page = { request, rows: 20, total: 260, saysPerPage: 20, granted: 100 };
  expect(isOtherPage(page, 100)).toBe(true);
  expect(isOtherPage({ ...page, saysPerPage: null }, 100)).toBe(true);
  const others = [{ saysPerPage: 99 }, { rows: 99 }, { rows: 0 }, { total: 119 }, { total: null }, { granted: 20 }];
  for (const other of others) expect(isOtherPage({ ...page, ...other }, 100)).toBe(false);
  expect(isOtherPage({ ...page, request: { ...request, perPage: 100 } }, 100)).toBe(false);
  const last = { ...page, rows: 4, total: 124 };
  expect(isOtherPage(last, 100)).toBe(true);
  expect(isOtherPage({ ...last, total: 103 }, 100)).toBe(false);
});

test("a smaller page with more rows than asked is a page of another size, whatever it says", () => {
  const page = { request: { page: 2, perPage: 19, role: "cover" }, rows: 20, total: 65, granted: 20 } as const;
  for (const saysPerPage of [20, 19, null]) expect(isOtherPage({ ...page, saysPerPage }, 20)).toBe(true);
  expect(isOtherPage({ ...page, saysPerPage: 20, rows: 19 }, 20)).toBe(false);
});

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
  const rig = await startSyncRig(service);
  afterTest(() => rig.close());
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

test("a service that shows no page behind some row is not asked for it in every form, and the list fails", async () => {
  const service = createFakeService(anOrganization(15), {
    maxPerPage: 10,
    before: ({ path, query }) =>
      path === "/v1/signals" && Number(query.page) * Number(query.perPage) > 40 && Number(query.page) > 1
        ? { status: 400, body: '{"error":"Result window is too large"}' }
        : undefined,
  });
  const rig = await startSyncRig(service, { DUCKMIRROR_STREAMS: "signals" });
  afterTest(() => rig.close());
  const first = await rig.sync();
  // 90 signals: four pages from each end, and those behind them, which were requested side by side.
  const refused = service.log.filter(({ status, query }) => status === 400 && Number(query.page) > 1);
  expect(refused.length).toBeLessThanOrEqual(2 * 5);
  const after = service.log.length;
  const second = await rig.sync();
  expect(service.log.length - after).toBeLessThanOrEqual(6);
  for (const { error, report } of [first, second]) {
    expect(error?.exitCode).toBe(5);
    expect(report.streams[0]).toMatchObject({ status: "failed", complete: false, unconfirmed: 10 });
    expect(report.streams[0]?.error).toContain("Result window is too large");
  }
});
