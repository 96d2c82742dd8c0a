// Marks of rows outside the scope after a replay: they are those that the syncs had made.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { warehousePaths } from "../../../../src/warehouse/file/working-file.ts";
import { expectEqualReplay } from "../../../support/equal-replay.ts";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { type SyncRig, simulatedClock, startSyncRig } from "../../../support/sync-rig.ts";

/** Entries of the journal, as text. */
const journalOf = (rig: SyncRig): string => {
  const { archiveDir } = warehousePaths(rig.dataDir);
  return readdirSync(archiveDir, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith("journal.ndjson"))
    .map((name) => readFileSync(join(archiveDir, name), "utf8"))
    .join("");
};

const TABLES_OUTSIDE = ["companies", "news_articles", "job_openings", "earnings_calls", "filings"];

/** Tables with a row that is marked as outside. */
const tablesOutside = async (rig: SyncRig): Promise<readonly string[]> => {
  const counts = TABLES_OUTSIDE.map((table) => `(select count(*) from ${table} where not _in_scope) as ${table}`);
  const [row = {}] = await rig.rows(`select ${counts.join(", ")}`);
  return Object.keys(row).filter((table) => Number(row[table]) > 0);
};

test.each<[string, { readonly full: boolean }, (service: ReturnType<typeof createFakeService>) => void]>([
  [
    "is linked to another company",
    { full: false },
    ({ data }) => Object.assign(data.accounts[1] ?? {}, { companyId: "c_3", updatedAt: "2026-11-20T00:00:00.000Z" }),
  ],
  ["is deleted", { full: true }, ({ data }) => data.accounts.splice(1, 1)],
])("after the only account of a company %s, a replay keeps the company's rows outside the scope", async (...row) => {
  const [, request, change] = row;
  const service = createFakeService(anOrganization(4), { maxPerPage: 10 });
  const rig = await startSyncRig(service);
  expect((await rig.sync()).error).toBeNull();
  expect(await tablesOutside(rig)).toEqual([]);
  change(service);
  expect((await rig.sync(request)).error).toBeNull();
  expect(await tablesOutside(rig)).toEqual(TABLES_OUTSIDE);
  // The journal is one that an older version could have written: the end of a run says it all.
  expect(journalOf(rig)).toContain('"run-finished"');
  expect(journalOf(rig)).not.toContain('"marked"');
  await expectEqualReplay(rig.dataDir);
  expect(await tablesOutside(rig)).toEqual(TABLES_OUTSIDE);
});

test.each<[string, object]>([
  ["the service filters", { accounts: { type: ["customer"] }, contacts: { type: ["champion"] } }],
  [
    "the mirror chooses from whole lists",
    { accounts: { priority: [1, 2] }, contacts: { change_type: ["departure", "promotion"] } },
  ],
])("a replay keeps the marks of a scope that %s", async (_, scope) => {
  const service = createFakeService(anOrganization(9), { maxPerPage: 10 });
  service.data.accounts.forEach((account, nth) => {
    account.type = nth % 2 === 0 ? "customer" : "prospect";
  });
  service.data.contacts.forEach((contact, nth) => {
    Object.assign(contact, {
      type: nth % 2 === 0 ? "champion" : "user",
      changeType: nth % 3 === 0 ? "departure" : "x",
    });
  });
  const rig = await startSyncRig(service);
  const sync = (env: Record<string, string> = {}, request = {}) =>
    rig.sync({ streams: ["accounts", "contacts", "companies", "account_insights"], ...request }, env);
  expect((await sync()).error).toBeNull();
  const scoped = { DUCKMIRROR_SCOPE: JSON.stringify(scope) };
  expect((await sync(scoped)).error).toBeNull();
  const outside = "select count(*) n from accounts where not _in_scope";
  const [before] = await rig.rows(outside);
  expect(Number(before?.n)).toBeGreaterThan(0);
  await expectEqualReplay(rig.dataDir);
  Object.assign(service.data.accounts[0] ?? {}, {
    type: "prospect",
    priority: 3,
    updatedAt: "2026-11-20T00:00:00.000Z",
  });
  expect((await sync(scoped)).error).toBeNull();
  expect(await rig.rows(outside)).not.toEqual([before]);
  await expectEqualReplay(rig.dataDir);
  // Then what is outside is erased, and the scope is dropped.
  expect((await sync(scoped, { eraseOutside: true })).error).toBeNull();
  await expectEqualReplay(rig.dataDir);
  expect((await sync()).error).toBeNull();
  await expectEqualReplay(rig.dataDir);
});

test("a replay keeps rows outside the scope that were marked before its baseline, and those marked since", async () => {
  const service = createFakeService(anOrganization(4), { maxPerPage: 10 });
  const clock = simulatedClock();
  const rig = await startSyncRig(service, { DUCKMIRROR_ARCHIVE_RETENTION_DAYS: "5" }, clock);
  const relinkNow = async (nth: number) => {
    const updatedAt = new Date(clock.now()).toISOString();
    Object.assign(service.data.accounts[nth] ?? {}, { companyId: "c_3", updatedAt });
    expect((await rig.sync()).error).toBeNull();
  };
  expect((await rig.sync()).error).toBeNull();
  await relinkNow(0);
  for (let day = 0; day < 8; day++) {
    await clock.sleep(86_400_000);
    expect((await rig.sync({ streams: ["accounts"] })).error).toBeNull();
  }
  const outside = () => rig.rows("select id from companies where not _in_scope order by id");
  expect(await outside()).toEqual([{ id: "c_1" }]);
  expect(await expectEqualReplay(rig.dataDir)).toMatchObject({ baseline: expect.stringMatching(/^2026-/) });
  await relinkNow(1);
  expect(await expectEqualReplay(rig.dataDir)).toMatchObject({ baseline: expect.stringMatching(/^2026-/) });
  expect(await outside()).toEqual([{ id: "c_1" }, { id: "c_2" }]);
});
