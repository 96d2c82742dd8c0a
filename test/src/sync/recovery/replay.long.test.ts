// Replay rebuilds the mirror from the archive. Shows P30.
import { cpSync, existsSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { isCode } from "../../../../src/core/errors.ts";
import type { ProgressEvent } from "../../../../src/core/report/sync-progress.ts";
import { openWarehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { aFolder } from "../../../support/cli.ts";
import { replayOf } from "../../../support/equal-replay.ts";
import { anOrganization, aSignal } from "../../../support/fake-data.ts";
import { createFakeService, type FakeService } from "../../../support/fake-service.ts";
import { dumpMirror } from "../../../support/mirror-dump.ts";
import { type SyncRig, startSyncRig } from "../../../support/sync-rig.ts";

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
  await expect(mirror.sync()).rejects.toSatisfy((error) => isCode(error, "WAREHOUSE_CORRUPT"));
  const { kept } = await replayOf(mirror.dataDir);
  expect(kept !== null && existsSync(kept)).toBe(true);
  expect(await dumpMirror(mirror.dataDir)).toEqual(before);

  rmSync(working(mirror.dataDir));
  // Nobody pays twice for what is in the archive.
  await expect(mirror.sync()).rejects.toSatisfy((error) => isCode(error, "WAREHOUSE_BEHIND"));
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
  await expect(replayOf(mirror.dataDir)).rejects.toSatisfy((error) => isCode(error, "ARCHIVE_INCOMPLETE"));
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
  await expect(replayOf(dataDir, { partial: true })).rejects.toSatisfy((error) => isCode(error, "ARCHIVE_INCOMPLETE"));
  const warehouse = await openWarehouse({ dataDir, clock: systemClock });
  await expect(replayOf(dataDir)).rejects.toSatisfy((error) => isCode(error, "WRITER_BUSY"));
  await warehouse.close();
});
