// Followed companies: what a sync does with inputs that `follow` added, and what stays of those that are followed no more.
import { afterEach, beforeEach, expect, test } from "vitest";
import { eraseAsked, followingJob, followJob, unfollowJob } from "../../jobs/following.ts";
import { vocabulary } from "../../src/catalog/vocabulary.ts";
import { systemClock } from "../../src/core/clock.ts";
import { resolveConfig } from "../../src/core/config/config.ts";
import { openWarehouse } from "../../src/warehouse/file/warehouse.ts";
import { anOrganization } from "../support/fake-data.ts";
import { createFakeService, type FakeService } from "../support/fake-service.ts";
import { type SyncRig, startSyncRig } from "../support/sync-rig.ts";

let rig: SyncRig;
let service: FakeService;
beforeEach(async () => {
  service = createFakeService({ ...anOrganization(3), accounts: [], contacts: [], signals: [], insights: {} });
  rig = await startSyncRig(service);
});
afterEach(() => rig.close());

const clock = systemClock;
const config = (companies = "") =>
  resolveConfig({
    flags: { data_dir: rig.dataDir, companies },
    env: {},
    file: null,
    cwd: rig.dataDir,
    vocabulary: vocabulary(),
  });
const rowsOf = async (table: string) => (await rig.rows(`select count(*) as n from ${table}`))[0]?.n;

test("a followed input is resolved by the next sync, which reads its company's lists", async () => {
  const added = await followJob(config("c_2"), [" c_1.example ", "c_2", "c_1.example", "unknown.example"], clock);
  expect(added).toEqual({ added: ["c_1.example", "unknown.example"], known: ["c_2"] });
  expect(await followingJob(config("c_2"))).toMatchObject([
    { input: "c_2", company_id: null, status: "pending", since: null, resolved_at: null },
    { input: "c_1.example", status: "pending", since: expect.stringMatching(/^\d{4}-.*Z$/) },
    { input: "unknown.example", status: "pending" },
  ]);
  expect((await rig.sync()).error).toBeNull();
  expect(await rowsOf("job_openings")).toBe(3);
  expect(await followingJob(config())).toMatchObject([
    { input: "c_1.example", company_id: "c_1", status: "resolved", resolved_at: expect.stringMatching(/Z$/) },
    { input: "unknown.example", company_id: null, status: "not_found", error: expect.stringContaining("no company") },
  ]);
  const spent = service.spent();
  await rig.sync();
  expect(service.spent()).toBe(spent);
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
  const before = service.log.length;
  await rig.sync({ full: true });
  expect(service.log.slice(before).filter(({ path }) => path.includes("c_1"))).toEqual([]);
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
