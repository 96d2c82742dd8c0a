// A mirror whose state/ is lost goes on from its snapshot. Shows P34.
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { replayOf } from "../../../../support/equal-replay.ts";
import { anOrganization } from "../../../../support/fake-data.ts";
import { createFakeService } from "../../../../support/fake-service.ts";
import { startSyncRig } from "../../../../support/sync-rig.ts";

const STREAMS = ["accounts", "contacts", "signals"];
const DATA = `SELECT 'account' AS what, CAST(id AS VARCHAR) AS id, _synced_at, _run_id FROM main.accounts
  UNION ALL SELECT 'contact', id, _synced_at, _run_id FROM main.contacts
  UNION ALL SELECT 'signal', CAST(id AS VARCHAR), _synced_at, _run_id FROM main.signals
  UNION ALL SELECT 'run', run_id, started_at, status FROM sync.runs ORDER BY ALL`;

const start = async () => {
  const service = createFakeService(anOrganization(4));
  const rig = await startSyncRig(service);
  await rig.sync({ streams: STREAMS });
  return { service, rig, state: join(rig.dataDir, "state") };
};

test("no row is lost or paid for again, whichever streams the next sync reads, and replay builds the same mirror", async () => {
  const { service, rig, state } = await start();
  const before = await rig.rows(DATA);
  rmSync(state, { recursive: true });
  const earlier = service.log.length;
  const { error, report } = await rig.sync({ streams: ["accounts"] });
  expect(error).toBeNull();
  expect(report.streams).toMatchObject([{ stream: "accounts", complete: true, inserted: 0, deleted: 0 }]);
  expect(service.log.length - earlier).toBe(1);
  const after = await rig.rows(DATA);
  expect(after.filter(({ id }) => id !== report.run_id)).toEqual(before);
  rmSync(join(state, "working.duckdb"));
  await replayOf(rig.dataDir);
  expect(await rig.rows(DATA)).toEqual(after);
});

test("a snapshot that cannot be read has nothing to go on from", async () => {
  const { rig, state } = await start();
  rmSync(state, { recursive: true });
  writeFileSync(join(rig.dataDir, "warehouse.duckdb"), "not a database");
  const { error, report } = await rig.sync({ streams: ["signals"] });
  expect(error).toBeNull();
  expect(report.streams[0]?.inserted).toBeGreaterThan(0);
});

test("an archive says more than the snapshot: it is left to replay", async () => {
  const { rig, state } = await start();
  rmSync(join(state, "working.duckdb"));
  await expect(rig.sync({ streams: STREAMS })).rejects.toMatchObject({ code: "WAREHOUSE_BEHIND" });
  expect(readdirSync(join(state, "archive")).length).toBeGreaterThan(0);
});
