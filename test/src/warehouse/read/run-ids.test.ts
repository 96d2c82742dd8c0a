// Ids of a sync that continues in another process, and what all of its runs have cost.
import { expect, test } from "vitest";
import { creditsOfRuns, firstStartOf, unusedRunId } from "../../../../src/warehouse/read/read-run.ts";
import { aCheckpoint, aRequest, aWarehouse } from "../builders.ts";

const SYNC = "20260102T030405Z-abc123";

test("the next id is the first that no run has; the runs of one sync are counted together, those of others are not", async () => {
  const warehouse = await aWarehouse();
  expect(await unusedRunId(warehouse.database, SYNC)).toBe(SYNC);
  expect(await firstStartOf(warehouse.database, SYNC)).toBeNull();
  const others = ["20260102T030405Z-abc12", "20260102T030405Z-abc1234"];
  const started = [[SYNC, 30], [`${SYNC}-2`, 40], ...others.map((id) => [id, 1] as const)] as const;
  for (const [runId, startedAt] of started) await warehouse.startRun({ runId, mode: "incremental", startedAt });
  expect(await unusedRunId(warehouse.database, SYNC)).toBe(`${SYNC}-3`);
  expect(await firstStartOf(warehouse.database, SYNC)).toBe(30);
  const cost = (runId: string, charge: "spent" | "ambiguous" | "free") =>
    warehouse.commit({ ...aCheckpoint([]), runId, requests: [aRequest(`${runId}/${charge}`, { runId, charge })] });
  for (const charge of ["spent", "ambiguous", "free"] as const) await cost(SYNC, charge);
  for (const runId of [`${SYNC}-2`, ...others]) await cost(runId, "spent");
  expect(await creditsOfRuns(warehouse.database, SYNC)).toBe(3);
});
