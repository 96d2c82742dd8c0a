import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { anOrganization } from "../../../../support/fake-data.ts";
import { createFakeService } from "../../../../support/fake-service.ts";
import { startSyncRig } from "../../../../support/sync-rig.ts";

test("archive files and old versions older than configured are removed, younger ones stay", async () => {
  const service = createFakeService(anOrganization(2));
  const rig = await startSyncRig(service, {
    DUCKMIRROR_ARCHIVE_RETENTION_DAYS: "30",
    DUCKMIRROR_HISTORY_RETENTION_DAYS: "30",
  });
  const old = join(rig.dataDir, "state", "archive", "2020-01");
  await mkdir(old, { recursive: true });
  await writeFile(join(old, "20200101T000000Z-abcdef.ndjson.gz"), "");
  await rig.sync();
  const months = await readdir(join(rig.dataDir, "state", "archive"));
  expect(months).toHaveLength(1);
  expect(months).not.toContain("2020-01");
  Object.assign(service.data.accounts[0] ?? {}, { name: "Renamed", updatedAt: "2026-11-20T00:00:00.000Z" });
  await rig.sync();
  expect(await rig.rows("select count(*) as n from history.accounts")).toEqual([{ n: 1 }]);
});
