// An interrupted replay leaves the mirror as it was; a whole one brings back the marks of rows outside the scope, too.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DuckmirrorError } from "../../src/core/errors.ts";
import { warehousePaths } from "../../src/warehouse/file/working-file.ts";
import { expectEqualReplay, replayOf } from "../support/equal-replay.ts";
import { anOrganization } from "../support/fake-data.ts";
import { createFakeService } from "../support/fake-service.ts";
import { dumpMirror } from "../support/mirror-dump.ts";
import { startSyncRig } from "../support/sync-rig.ts";

test("an interruption ends it before the next change; files stay as they were, and the next replay goes well", async () => {
  const rig = await startSyncRig(createFakeService(anOrganization(3)));
  await rig.sync();
  const { working, snapshot, state } = warehousePaths(rig.dataDir);
  const filesNow = () => [working, snapshot].map((file) => readFileSync(file).toString("base64"));
  const [before, dump, names] = [filesNow(), await dumpMirror(rig.dataDir), readdirSync(state)];

  const stopped = replayOf(rig.dataDir, { signal: AbortSignal.abort(new DuckmirrorError("INTERRUPTED")) });
  await expect(stopped).rejects.toMatchObject({ code: "REPLAY_INTERRUPTED", exitCode: 130 });
  expect(filesNow()).toEqual(before);
  expect(readdirSync(state)).toEqual(names);

  const report = await replayOf(rig.dataDir);
  expect([report.runs, report.warehouse]).toEqual([1, join(rig.dataDir, "warehouse.duckdb")]);
  expect(await dumpMirror(rig.dataDir)).toEqual(dump);
});

test("after its only account is linked to another company, a company and its lists stay outside the scope", async () => {
  const service = createFakeService(anOrganization(4), { maxPerPage: 10 });
  const rig = await startSyncRig(service);
  expect((await rig.sync()).error).toBeNull();
  Object.assign(service.data.accounts[0] ?? {}, { companyId: "c_3", updatedAt: "2026-11-20T00:00:00.000Z" });
  expect((await rig.sync()).error).toBeNull();
  await expectEqualReplay(rig.dataDir);
  expect(await rig.rows("select id from companies where not _in_scope")).toEqual([{ id: "c_1" }]);
  expect(await rig.rows("select distinct company_id from job_openings where not _in_scope")).toEqual([
    { company_id: "c_1" },
  ]);
});
