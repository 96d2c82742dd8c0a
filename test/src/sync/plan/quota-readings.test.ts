// The mirror's readings of the quota: what the resets so far have shown, as plan and pace use it.
import { expect, test } from "vitest";
import { grantOf, readRollOver } from "../../../../src/sync/plan/quota-readings.ts";
import { aWarehouse } from "../../warehouse/builders.ts";

test("credits that came over at the last reset are seen, and pace even is told what a period grants", async () => {
  const warehouse = await aWarehouse();
  const read = (capturedAt: string, remaining: number, used: number, resetsAt: string) =>
    warehouse.commit({
      runId: "r",
      loads: [],
      requests: [],
      scopes: [],
      quota: { capturedAt: Date.parse(capturedAt), limit: 100, used, remaining, resetsAt: Date.parse(resetsAt) },
    });
  await read("2026-10-02", 99, 1, "2026-11-01");
  expect(grantOf(await readRollOver(warehouse.database))).toEqual({});
  await read("2026-10-28", 40, 60, "2026-11-01");
  await read("2026-11-03", 139, 1, "2026-12-01");
  await read("2026-11-20", 20, 120, "2026-12-01");
  const seen = await readRollOver(warehouse.database);
  expect(seen).toEqual({ shown: "seen", grant: 100, periodMs: 30 * 86_400_000 });
  expect(grantOf(seen)).toEqual({ rollsOver: { credits: 100, periodMs: 30 * 86_400_000 } });
  await warehouse.close();
});
