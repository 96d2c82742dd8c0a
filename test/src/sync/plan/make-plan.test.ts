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

test("a plan names the search for rows that the last sync kept although the service counts fewer, or the walk in its place", async () => {
  const warehouse = createMemoryWarehouse({});
  const records = Array.from({ length: 1_000 }, (_, at) => ({
    id: at + 1,
    date: new Date(NOW - at * 6 * 3_600_000).toISOString(),
  }));
  const load = { stream: "signals", table: "signals", records, asked: new Set<string>(), fromPath: {} } as const;
  const mirrored = (totalCount: number, rowsAtWalk: number | null) =>
    warehouse.commit({
      runId: "r",
      loads: [{ ...load, walkId: null, requestId: "q", receivedAt: NOW }],
      requests: [],
      scopes: [idleState({ stream: "signals", scope: "", at: NOW - 3_600_000 }, { totalCount, rowsAtWalk })],
      quota: null,
    });
  const plan = createPlanner(warehouse, {
    ...dueOptions({ streams: ["signals"], largestPage: 25 }),
    reset: [],
  });
  const planned = async () => {
    const { candidates } = await plan({ shapes: new Map() }, NOW);
    return candidates.map(({ because, requests }) => [because, requests]);
  };
  await mirrored(998, null);
  expect(await planned()).toEqual([["2 rows less than mirrored: about 15 credits to find", 16]]);
  // As many more rows than counted as when the list last added up: that is the service's own count.
  await mirrored(998, 1_000);
  expect(await planned()).toEqual([["changes since the last sync", 1]]);
  await mirrored(998, null);
  const failed = { cut: null, failures: 1, because: "the service ignores the date filter", notBefore: NOW + 1 };
  await warehouse.setCapability(
    "counting.signals",
    JSON.stringify({ filters: { beforeDate: failed }, open: null }),
    NOW,
  );
  expect(await planned()).toEqual([["2 rows less than mirrored: the list is read", 41]]);
});
