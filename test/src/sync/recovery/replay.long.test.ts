// Replay rebuilds the mirror from the archive; marks of rows outside the scope are those that the syncs had made. Shows P30.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import type { ProgressEvent } from "../../../../src/core/report/sync-progress.ts";
import { openWarehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { warehousePaths } from "../../../../src/warehouse/file/working-file.ts";
import { aFolder } from "../../../support/cli.ts";
import { expectEqualReplay, replayOf } from "../../../support/equal-replay.ts";
import { anOrganization, aSignal } from "../../../support/fake-data.ts";
import { createFakeService, type FakeService } from "../../../support/fake-service.ts";
import { dumpMirror } from "../../../support/mirror-dump.ts";
import { type SyncRig, simulatedClock, startSyncRig } from "../../../support/sync-rig.ts";

const later = "2026-11-20T00:00:00.000Z";
const working = (dataDir: string) => join(dataDir, "state", "working.duckdb");
const archive = (dataDir: string) => join(dataDir, "state", "archive");

/** A mirror with a past: updates, deletes, a row that returned, a followed input nobody knows, a full walk. */
const aLivedInMirror = async (service: FakeService): Promise<SyncRig> => {
  const mirror = await startSyncRig(service, { DUCKMIRROR_COMPANIES: "c_2.example,nobody.example" });
  expect((await mirror.sync()).error).toBeNull();
  Object.assign(service.data.accounts[2] ?? {}, { name: "Renamed", updatedAt: later, ticker: "RNM" });
  const [gone] = service.data.contacts.splice(7, 1);
  service.data.signals.push(aSignal(9001, { accountId: 4, type: "hiring-alert", updatedAt: later, createdAt: later }));
  service.data.lists.c_4?.["job-openings"]?.splice(0, 1);
  expect((await mirror.sync()).error).toBeNull();
  if (gone !== undefined) service.data.contacts.push(gone);
  service.data.lists.c_2?.["job-openings"]?.splice(0, 3);
  expect((await mirror.sync({ full: true })).error).toBeNull();
  return mirror;
};

test("the archive alone rebuilds every table, history, state and the ledger, without a request", async () => {
  const service = createFakeService(anOrganization(6), { maxPerPage: 10, credits: 5000 });
  const mirror = await aLivedInMirror(service);
  const before = await dumpMirror(mirror.dataDir);
  expect(before["history.contacts"]?.length).toBeGreaterThan(0);
  expect(before["history.job_openings"]?.length).toBeGreaterThan(0);
  const requests = service.log.length;
  const events: ProgressEvent[] = [];
  const report = await replayOf(mirror.dataDir, { emit: (event) => void events.push(event) });
  expect(service.log.length).toBe(requests);
  expect(await dumpMirror(mirror.dataDir)).toEqual(before);
  expect(report).toMatchObject({ runs: 3, missing: [], tables: { accounts: 6, contacts: 24 } });
  expect(report.responses).toBe(service.spent());
  expect(events.map(({ kind }) => kind)).toContain("page");
  expect(await mirror.rows("select count(*) as n from contacts")).toEqual([{ n: 24 }]);
});

test("the next sync after a replay asks for what it would have asked for anyway", async () => {
  const service = createFakeService(anOrganization(5), { maxPerPage: 10 });
  const mirror = await aLivedInMirror(service);
  const copy = join(aFolder(), "data");
  cpSync(mirror.dataDir, copy, { recursive: true });
  const asked = async (run: () => Promise<unknown>) => {
    const start = service.log.length;
    await run();
    return service.log.slice(start).map(({ path, query }) => `${path} ${JSON.stringify(query)}`);
  };
  const without = await asked(() => mirror.sync({}, { DUCKMIRROR_DATA_DIR: copy }));
  await replayOf(mirror.dataDir);
  const afterwards = await asked(() => mirror.sync());
  expect(afterwards).toEqual(without);
  expect(afterwards.length).toBeLessThan(8);
});

test("a working file that is damaged or gone is rebuilt, and what lies there is kept", async () => {
  const service = createFakeService(anOrganization(3));
  const mirror = await aLivedInMirror(service);
  const before = await dumpMirror(mirror.dataDir);
  writeFileSync(working(mirror.dataDir), "no database ".repeat(5000));
  await expect(mirror.sync()).rejects.toMatchObject({ code: "WAREHOUSE_CORRUPT" });
  const { kept } = await replayOf(mirror.dataDir);
  expect(kept !== null && existsSync(kept)).toBe(true);
  expect(await dumpMirror(mirror.dataDir)).toEqual(before);

  rmSync(working(mirror.dataDir));
  // Nobody pays twice for what is in the archive.
  await expect(mirror.sync()).rejects.toMatchObject({ code: "WAREHOUSE_BEHIND" });
  await replayOf(mirror.dataDir);
  expect(await dumpMirror(mirror.dataDir)).toEqual(before);
  expect((await mirror.sync()).error).toBeNull();
});

test("an archive that lacks something changes nothing, unless what it holds is wanted all the same", async () => {
  const service = createFakeService(anOrganization(4), { maxPerPage: 10 });
  const mirror = await aLivedInMirror(service);
  const before = await dumpMirror(mirror.dataDir);
  const [month = ""] = readdirSync(archive(mirror.dataDir));
  const [first = ""] = readdirSync(join(archive(mirror.dataDir), month))
    .filter((name) => name.endsWith("Z.ndjson.gz") || /^[\dTZ]+-\w+\.ndjson\.gz$/.test(name))
    .sort();
  truncateSync(join(archive(mirror.dataDir), month, first), 900);
  await expect(replayOf(mirror.dataDir)).rejects.toMatchObject({ code: "ARCHIVE_INCOMPLETE" });
  expect(await dumpMirror(mirror.dataDir)).toEqual(before);
  expect(readdirSync(join(mirror.dataDir, "state")).filter((name) => name.includes(".new"))).toEqual([]);

  const report = await replayOf(mirror.dataDir, { partial: true });
  expect(report.missing.length).toBeGreaterThan(0);
  expect((await mirror.sync()).error).toBeNull();
  const healed = await dumpMirror(mirror.dataDir);
  for (const table of ["accounts", "contacts", "signals", "news_articles", "job_openings", "filings"]) {
    expect(healed[`main.${table}`]?.length).toBe(before[`main.${table}`]?.length);
  }
});

test("an empty archive replaces nothing, and a busy data directory is refused", async () => {
  const dataDir = aFolder();
  await expect(replayOf(dataDir, { partial: true })).rejects.toMatchObject({ code: "ARCHIVE_INCOMPLETE" });
  const warehouse = await openWarehouse({ dataDir, clock: systemClock });
  await expect(replayOf(dataDir)).rejects.toMatchObject({ code: "WRITER_BUSY" });
  await warehouse.close();
});

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
