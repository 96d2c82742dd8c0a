import { expect, test } from "vitest";
import { createPlanner } from "../../../../src/sync/plan/make-plan.ts";
import { createMemoryWarehouse } from "../../../support/memory-warehouse/memory-warehouse.ts";
import { dueOptions, idleState } from "./planning-input.ts";

const NOW = Date.UTC(2026, 10, 27);

test("a plan names a search for gone rows that the credits ended, and counts what is left of it", async () => {
  const warehouse = createMemoryWarehouse({});
  const state = idleState(
    { stream: "signals", scope: "", at: NOW - 3_600_000 },
    { totalCount: 30_000, rowsAtWalk: 30_000 },
  );
  await warehouse.commit({ runId: "r", loads: [], requests: [], scopes: [state], quota: null });
  const plan = createPlanner(warehouse, { ...dueOptions({ streams: ["signals"] }), reset: [] });
  const planned = async () => {
    const { candidates } = await plan({ shapes: new Map() }, NOW);
    return candidates.map(({ stream, mode, because, requests }) => ({ stream, mode, because, requests }));
  };
  const look = { stream: "signals", mode: "watermark" };
  expect(await planned()).toEqual([{ ...look, because: "changes since the last sync", requests: 1 }]);
  const open = { before: "beforeDate", gone: 1, credits: 8, boundaries: [] };
  await warehouse.setCapability("counting.signals", JSON.stringify({ filters: {}, open }), NOW);
  expect(await planned()).toEqual([
    { ...look, because: "1 row less than mirrored: about 8 credits to find", requests: 9 },
  ]);
});
