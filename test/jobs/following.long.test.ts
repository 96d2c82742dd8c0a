// Followed companies: what a sync does with inputs that `follow` added, and what stays of those that are followed no more.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { eraseAsked, followingJob, followJob, unfollowJob } from "../../jobs/following.ts";
import { planJob } from "../../jobs/plan.ts";
import { systemClock } from "../../src/core/clock.ts";
import { openWarehouse } from "../../src/warehouse/file/warehouse.ts";
import { anOrganization } from "../support/fake-data.ts";
import { createFakeService, type FakeService } from "../support/fake-service.ts";
import { configOf } from "../support/given-config.ts";
import { type SyncRig, startSyncRig } from "../support/sync-rig.ts";

let rig: SyncRig;
let service: FakeService;
beforeEach(async () => {
  service = createFakeService({ ...anOrganization(3), accounts: [], contacts: [], signals: [], insights: {} });
  rig = await startSyncRig(service);
});

const clock = systemClock;
const config = (companies = "") =>
  configOf(null, { DUCKMIRROR_DATA_DIR: rig.dataDir, DUCKMIRROR_COMPANIES: companies });
const rowsOf = async (table: string) => (await rig.rows(`select count(*) as n from ${table}`))[0]?.n;
/** Credits of a sync that ends well. */
const paidFor = async (...request: Parameters<SyncRig["sync"]>) => {
  const { code, paid } = await rig.sync(...request);
  expect(code).toBeNull();
  return paid;
};

test("a followed input is resolved by the next sync, which reads its company's lists", async () => {
  const added = await followJob(config("c_2"), [" c_1.example ", "c_2", "c_1.example", "unknown.example"], clock);
  expect(added).toEqual({ added: ["c_1.example", "unknown.example"], known: ["c_2"] });
  expect(await followingJob(config("c_2"))).toMatchObject([
    { input: "c_2", company_id: null, status: "pending", since: null, resolved_at: null },
    { input: "c_1.example", status: "pending", since: expect.stringMatching(/^\d{4}-.*Z$/) },
    { input: "unknown.example", status: "pending" },
  ]);
  expect(await paidFor()).toBeGreaterThan(0);
  expect(await rowsOf("job_openings")).toBe(3);
  expect(await followingJob(config())).toMatchObject([
    { input: "c_1.example", company_id: "c_1", status: "resolved", resolved_at: expect.stringMatching(/Z$/) },
    { input: "unknown.example", company_id: null, status: "not_found", error: expect.stringContaining("no company") },
  ]);
  expect(await paidFor()).toBe(0);
});

test("why an input could not be resolved is said", async () => {
  service.options = {
    ...service.options,
    before: ({ path }) => (path.includes("by-input") ? { status: 403, body: { error: "not for you" } } : undefined),
  };
  await followJob(config(), ["c_1"], clock);
  await rig.sync();
  expect(await followingJob(config())).toMatchObject([{ status: "pending", error: expect.stringContaining("403") }]);
});

test("what is followed no more is asked for no more; its rows stay, until they are erased", async () => {
  await followJob(config(), ["c_1", "c_2"], clock);
  await rig.sync();
  expect(await unfollowJob(config(), ["c_1"], { erase: false, clock })).toEqual({ removed: ["c_1"], erased: null });
  const { sent } = await rig.sync({ full: true });
  expect(sent.filter(({ path }) => path.includes("c_1"))).toEqual([]);
  expect(await rowsOf("job_openings")).toBe(6);
  expect(await rig.rows("select sum(scopes) as n from marts.freshness where stream = 'filings'")).toEqual([{ n: 1 }]);
  const { erased } = await unfollowJob(config(), ["c_2"], { erase: true, clock });
  expect(erased).toBeGreaterThan(5);
  expect(await rig.rows("select distinct company_id from job_openings")).toEqual([{ company_id: "c_1" }]);
  expect(await rig.rows("select input from company_inputs")).toEqual([{ input: "c_1" }]);
  // Followed again, everything is read again.
  await followJob(config(), ["c_2"], clock);
  await rig.sync();
  expect(await rowsOf("job_openings")).toBe(6);
});

test("an erasure is published although a check fails", async () => {
  await followJob(config(), ["c_1", "c_2"], clock);
  await rig.sync();
  writeFileSync(join(rig.dataDir, "never.sql"), "SELECT 1");
  const guarded = { ...config(), checks: { folder: rig.dataDir, source: "box" as const } };
  expect((await unfollowJob(guarded, ["c_2"], { erase: true, clock })).erased).toBeGreaterThan(5);
  expect(await rig.rows("select distinct company_id from job_openings")).toEqual([{ company_id: "c_1" }]);
});

test("while a sync runs, erasing waits for the next one; what an input still followed names stays", async () => {
  await followJob(config(), ["c_1", "c_1.example", "c_2"], clock);
  await rig.sync();
  const warehouse = await openWarehouse({ dataDir: rig.dataDir, clock, memory: config().memory });
  expect(await unfollowJob(config(), ["c_1", "c_2"], { erase: true, clock })).toMatchObject({ erased: null });
  await warehouse.close();
  await rig.sync();
  expect(await rig.rows("select distinct company_id from job_openings")).toEqual([{ company_id: "c_1" }]);
  const again = await openWarehouse({ dataDir: rig.dataDir, clock, memory: config().memory });
  expect(await eraseAsked(config(), again, clock)).toBe(0);
  await again.close();
});

test("thousands of inputs are followed at once, and a killed change is taken over", async () => {
  const many = Array.from({ length: 5000 }, (_, n) => `company-${n}.example`);
  expect((await followJob(config(), many, clock)).added).toHaveLength(5000);
  expect((await followJob(config(), many, clock)).added).toHaveLength(0);
  await unfollowJob(config(), many, { erase: false, clock });
  expect(await followingJob(config())).toEqual([]);
});

test.each([
  ["", "an empty input"],
  ["..", "names no company"],
  ["a\nb", "control character"],
  ["x".repeat(1001), "1001 characters"],
])("%j is refused and nothing is followed", async (input, named) => {
  await expect(followJob(config(), ["c_1", input], clock)).rejects.toThrow(named);
  expect(await followingJob(config())).toEqual([]);
});

test("what is not followed, or configured, is not unfollowed", async () => {
  await followJob(config(), ["c_1"], clock);
  const options = { erase: false, clock };
  await expect(unfollowJob(config(), ["c_1", "c_9"], options)).rejects.toThrow("c_9 is not followed");
  await expect(unfollowJob(config("c_2"), ["c_2"], options)).rejects.toThrow("in the configuration");
  expect(await followingJob(config())).toHaveLength(1);
});

/** c_1.example names another company from now on. */
const renameCompany = (to: string) => {
  for (const company of service.data.companies) {
    if (company.id === "c_1") company.domain = "old.example";
    if (company.id === to) company.domain = "c_1.example";
  }
};
const inScopeOf = async (table: string, id: string) =>
  (await rig.rows(`select distinct ${id} as id from ${table} where _in_scope order by 1`)).map((row) => row.id);

test("an input that names another company now is noticed by --full, as announced, for a credit more", async () => {
  await followJob(config(), ["c_1.example", "c_2"], clock);
  await rig.sync();
  await rig.sync();
  renameCompany("c_3");
  // Without --full, nothing asks for it.
  expect(await paidFor()).toBe(0);
  const asked = { streams: ["companies"], full: true };
  const { forecast } = await planJob(config(), asked, clock);
  const because = [
    { reason: "--full: the input may name another company now", scopes: 2 },
    { reason: "--full", scopes: 2 },
  ];
  expect(forecast.streams).toMatchObject([{ stream: "companies", requests: 4, because }]);
  const { code, sent, of } = await rig.sync({ full: true });
  expect(code).toBeNull();
  const paths = sent.map(({ path }) => path);
  expect(paths.filter((path) => /^\/v1\/companies\/(by-input\/)?[^/]+$/.test(path)).sort()).toEqual([
    "/v1/companies/by-input/c_1.example",
    "/v1/companies/by-input/c_2",
    "/v1/companies/c_1",
    "/v1/companies/c_2",
    "/v1/companies/c_3",
  ]);
  expect(of("companies")).toMatchObject({ credits: 5, complete: true });
  expect(await followingJob(config())).toMatchObject([{ company_id: "c_3" }, { company_id: "c_2" }]);
  expect(await inScopeOf("companies", "id")).toEqual(["c_2", "c_3"]);
  expect(await inScopeOf("job_openings", "company_id")).toEqual(["c_2", "c_3"]);
  expect(await rig.rows("select distinct company_id as id from job_openings where not _in_scope")).toEqual([
    { id: "c_1" },
  ]);
  expect(await paidFor()).toBe(0);
});

test("--reset companies asks for the inputs alone, and a company that another input names stays followed", async () => {
  await followJob(config(), ["c_1.example", "c_1"], clock);
  await rig.sync();
  renameCompany("c_2");
  const { code, sent } = await rig.sync({ reset: ["companies"] });
  expect(code).toBeNull();
  expect(sent.map(({ path }) => path).sort()).toEqual([
    "/v1/companies/by-input/c_1",
    "/v1/companies/by-input/c_1.example",
  ]);
  await rig.sync();
  expect(await inScopeOf("job_openings", "company_id")).toEqual(["c_1", "c_2"]);
});

test("a 404 of text, which a gateway may have sent, leaves a resolved input as it is; one of the service does not", async () => {
  await followJob(config(), ["c_1.example"], clock);
  await rig.sync();
  let body: unknown = "404 page not found";
  service.options = {
    ...service.options,
    before: ({ path }) => (path.includes("by-input") ? { status: 404, body } : undefined),
  };
  expect((await rig.sync({ full: true })).code).toBe("STREAMS_FAILED");
  expect(await inScopeOf("job_openings", "company_id")).toEqual(["c_1"]);
  body = { error: "no company" };
  // It is the only company: like the loss of all profiles, that needs a word.
  expect((await rig.sync({ full: true })).code).toBe("STREAMS_FAILED");
  expect(await followingJob(config())).toMatchObject([{ company_id: "c_1", status: "resolved" }]);
  expect((await rig.sync({ full: true, allowMassDelete: true })).code).toBeNull();
  expect(await followingJob(config())).toMatchObject([{ company_id: null, status: "not_found" }]);
  expect(await inScopeOf("job_openings", "company_id")).toEqual([]);
});
