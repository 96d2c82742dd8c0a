// Lists that a sync reads anew: a further run of the sync, after it lost its worker, pays for no page again.
import { expect, test } from "vitest";
import { aSignal } from "../../../support/fake-data.ts";
import { createFakeService, emptyData } from "../../../support/fake-service.ts";
import { startSyncRig } from "../../../support/sync-rig.ts";

test("a further run of the sync goes on with its lists where the first run stood, and reads none anew", async () => {
  const data = emptyData();
  for (let id = 1; id <= 100; id += 1) data.signals.push(aSignal(id));
  const service = createFakeService(data, { maxPerPage: 25, credits: 1_000 });
  const rig = await startSyncRig(service, { DUCKMIRROR_CONCURRENCY: "1" });
  const pages = async (request: Parameters<typeof rig.sync>[0], env = {}) => {
    const { report, paid } = await rig.sync(request, env);
    return { runId: report.run_id, pages: paid };
  };
  expect(await pages({ streams: ["signals"] })).toMatchObject({ pages: 4 });
  const reset = { reset: ["signals"], runId: "sync-1" };
  expect(await pages(reset, { DUCKMIRROR_MAX_CREDITS: "2" })).toEqual({ runId: "sync-1", pages: 2 });
  // It reads across its boundary again, which takes a page.
  expect(await pages(reset)).toEqual({ runId: "sync-1-2", pages: 3 });
  // What was read to its end is only asked for newer rows, as in every sync.
  expect(await pages(reset)).toEqual({ runId: "sync-1-3", pages: 1 });
  expect((await pages({ reset: ["signals"], runId: "sync-2" })).pages).toBeGreaterThanOrEqual(4);
});
