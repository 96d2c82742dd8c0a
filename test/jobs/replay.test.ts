// An interrupted replay leaves the mirror as it was; a whole one brings back the marks of rows outside the scope, too.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { exportJob } from "../../jobs/export.ts";
import { replayJob } from "../../jobs/replay.ts";
import { vocabulary } from "../../src/catalog/vocabulary.ts";
import { systemClock } from "../../src/core/clock.ts";
import { resolveConfig } from "../../src/core/config/config.ts";
import { DuckmirrorError } from "../../src/core/errors.ts";
import { makeBaseline } from "../../src/warehouse/file/baseline/baseline.ts";
import { warehousePaths } from "../../src/warehouse/file/working-file.ts";
import { readBegunAt } from "../../src/warehouse/read/begun-at.ts";
import { readSnapshot } from "../../src/warehouse/read/mirror-reader.ts";
import { readParquet } from "../src/warehouse/export-set.ts";
import { expectEqualReplay, replayOf } from "../support/equal-replay.ts";
import { aContact, anOrganization } from "../support/fake-data.ts";
import { createFakeService } from "../support/fake-service.ts";
import { dumpMirror } from "../support/mirror-dump.ts";
import { startSyncRig } from "../support/sync-rig.ts";

test("an interruption ends it before the next change; files stay as they were, and the next replay goes well", async () => {
  const rig = await startSyncRig(createFakeService(anOrganization(3)));
  onTestFinished(() => rig.close());
  await rig.sync();
  const { working, snapshot, state } = warehousePaths(rig.dataDir);
  const filesNow = () => [working, snapshot].map((file) => readFileSync(file).toString("base64"));
  const [before, dump, names] = [filesNow(), await dumpMirror(rig.dataDir), readdirSync(state)];

  const stopped = replayOf(rig.dataDir, AbortSignal.abort(new DuckmirrorError("INTERRUPTED")));
  await expect(stopped).rejects.toMatchObject({ code: "REPLAY_INTERRUPTED", exitCode: 130 });
  expect(filesNow()).toEqual(before);
  expect(readdirSync(state)).toEqual(names);

  const report = await replayOf(rig.dataDir);
  expect([report.runs, report.warehouse]).toEqual([1, join(rig.dataDir, "warehouse.duckdb")]);
  expect(await dumpMirror(rig.dataDir)).toEqual(dump);
});

test("after a rule that excludes a field, a replay brings exports that hold it no longer", async () => {
  const organization = anOrganization(2);
  organization.contacts.push(aContact("ada", { email: "ada@lovelace.example" }));
  const rig = await startSyncRig(createFakeService(organization), { DUCKMIRROR_STREAMS: "accounts,contacts" });
  onTestFinished(() => rig.close());
  await rig.sync();
  const signal = new AbortController().signal;
  const configOf = (more: Record<string, string> = {}) => {
    const env = { DUCKMIRROR_DATA_DIR: rig.dataDir, ...more };
    return resolveConfig({ flags: {}, env, file: null, cwd: rig.dataDir, vocabulary: vocabulary() });
  };
  const exported = async (config: ReturnType<typeof configOf>) => {
    const request = { dir: null, format: "parquet", tables: ["contacts"], since: null, guardFormulas: false } as const;
    await exportJob(config, request, { signal });
    const files = join(rig.dataDir, "export/contacts/*.parquet");
    const row = z.object({ emails: z.number() });
    return readParquet(`SELECT count(email) AS emails FROM read_parquet('${files}')`, row);
  };
  expect(await exported(configOf())).not.toEqual([{ emails: 0 }]);
  const config = configOf({ DUCKMIRROR_EXCLUDE_FIELDS: "contacts.email" });
  await replayJob(config, { partial: false }, { clock: systemClock, emit: () => undefined, signal });
  expect(await exported(config)).toEqual([{ emails: 0 }]);
});

test("a replay from a baseline begins a file of its own time, by which exports and destinations know it", async () => {
  const rig = await startSyncRig(createFakeService(anOrganization(1)), { DUCKMIRROR_STREAMS: "accounts" });
  onTestFinished(() => rig.close());
  await rig.sync();
  const { snapshot, state } = warehousePaths(rig.dataDir);
  const begun = () => readSnapshot(snapshot, ({ database }) => readBegunAt(database));
  const before = await begun();
  await makeBaseline(state, snapshot, systemClock.now());
  const env = { DUCKMIRROR_DATA_DIR: rig.dataDir };
  const config = resolveConfig({ flags: {}, env, file: null, cwd: rig.dataDir, vocabulary: vocabulary() });
  const report = await replayJob(config, { partial: false }, { clock: systemClock, emit: () => undefined });
  expect(report.baseline).not.toBeNull();
  expect(await begun()).toBeGreaterThan(before ?? Number.POSITIVE_INFINITY);
});

test("after its only account is linked to another company, a company and its lists stay outside the scope", async () => {
  const service = createFakeService(anOrganization(4), { maxPerPage: 10 });
  const rig = await startSyncRig(service);
  onTestFinished(() => rig.close());
  expect((await rig.sync()).error).toBeNull();
  Object.assign(service.data.accounts[0] ?? {}, { companyId: "c_3", updatedAt: "2026-11-20T00:00:00.000Z" });
  expect((await rig.sync()).error).toBeNull();
  await expectEqualReplay(rig.dataDir);
  expect(await rig.rows("select id from companies where not _in_scope")).toEqual([{ id: "c_1" }]);
  expect(await rig.rows("select distinct company_id from job_openings where not _in_scope")).toEqual([
    { company_id: "c_1" },
  ]);
});
