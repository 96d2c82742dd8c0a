// What a replay leaves to exports and destinations; and a plan in a data directory that cannot be written.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { exportJob } from "../../jobs/export.ts";
import { planJob, planJson } from "../../jobs/plan.ts";
import { systemClock } from "../../src/core/clock.ts";
import { openDatabase } from "../../src/warehouse/duckdb/database.ts";
import { makeBaseline } from "../../src/warehouse/file/baseline/baseline.ts";
import { migrate } from "../../src/warehouse/file/migrate.ts";
import { warehousePaths } from "../../src/warehouse/file/working-file.ts";
import { readSnapshot } from "../../src/warehouse/read/mirror-reader.ts";
import { readBegunAt } from "../../src/warehouse/read/read-run.ts";
import { readParquet } from "../src/warehouse/export-set.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { replayOf } from "../support/equal-replay.ts";
import { aContact, anOrganization } from "../support/fake-data.ts";
import { createFakeService } from "../support/fake-service.ts";
import { configOf } from "../support/given-config.ts";
import { startSyncRig } from "../support/sync-rig.ts";

test("after a rule that excludes a field, a replay brings exports that hold it no longer", async () => {
  const organization = anOrganization(2);
  organization.contacts.push(aContact("ada", { email: "ada@lovelace.example" }));
  const rig = await startSyncRig(createFakeService(organization), { DUCKMIRROR_STREAMS: "accounts,contacts" });
  await rig.sync();
  const signal = new AbortController().signal;
  const exported = async (env: Record<string, string> = {}) => {
    const request = { dir: null, format: "parquet", tables: ["contacts"], since: null, guardFormulas: false } as const;
    await exportJob(configOf(null, { DUCKMIRROR_DATA_DIR: rig.dataDir, ...env }), request, { signal });
    const files = join(rig.dataDir, "export/contacts/*.parquet");
    const row = z.object({ emails: z.number() });
    return readParquet(`SELECT count(email) AS emails FROM read_parquet('${files}')`, row);
  };
  expect(await exported()).not.toEqual([{ emails: 0 }]);
  const env = { DUCKMIRROR_EXCLUDE_FIELDS: "contacts.email" };
  await replayOf(rig.dataDir, { env });
  expect(await exported(env)).toEqual([{ emails: 0 }]);
});

test("a replay from a baseline begins a file of its own time, by which exports and destinations know it", async () => {
  const rig = await startSyncRig(createFakeService(anOrganization(1)), { DUCKMIRROR_STREAMS: "accounts" });
  await rig.sync();
  const { snapshot, state } = warehousePaths(rig.dataDir);
  const begun = () => readSnapshot(snapshot, ({ database }) => readBegunAt(database));
  const before = await begun();
  await makeBaseline(state, snapshot, systemClock.now());
  expect((await replayOf(rig.dataDir)).baseline).not.toBeNull();
  expect(await begun()).toBeGreaterThan(before ?? Number.POSITIVE_INFINITY);
});

test("a directory that cannot be written is planned from its snapshot; without one the refusal stays", async () => {
  const dataDir = tempDir();
  const snapshot = join(dataDir, "warehouse.duckdb");
  const database = await openDatabase(snapshot, { threads: 1 });
  await migrate(database, 0);
  await database.run("INSERT INTO main.accounts (id, type, _synced_at) VALUES (7, 'customer', '2026-01-01')");
  await database.close();
  // A file where a folder is needed refuses every user, root included.
  mkdirSync(join(dataDir, "state"));
  writeFileSync(join(dataDir, "state", "archive"), "");
  const config = configOf(null, { DUCKMIRROR_DATA_DIR: dataDir });
  const { streams } = planJson(await planJob(config, {}, systemClock));
  expect(streams.find(({ stream }) => stream === "account_insights")).toMatchObject({ due: 1 });
  rmSync(snapshot);
  await expect(planJob(config, {}, systemClock)).rejects.toMatchObject({ code: "DATA_DIR_UNWRITABLE" });
});
