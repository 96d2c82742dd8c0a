// The worker on BullMQ: syncs asked for run once, join each other, are cancelled, fail in part, and are handed on.
import { expect, test } from "vitest";
import { syncReportSchema } from "../../../src/core/sync-report.ts";
import { anAsk, anOrg, aRedis, aWorker, reached } from "./worker-rig.ts";

test("a sync that was asked for mirrors everything in one run and tells its report", async () => {
  const redis = await aRedis();
  const org = await anOrg();
  const { triggers, events } = await aWorker(redis, [org.config(redis)]);
  const { runId, joined } = await triggers.start(anAsk());
  expect(joined).toBe(false);
  const sync = await reached(triggers, runId);
  expect(sync).toMatchObject({ runId, state: "done", profile: "default", error: null });
  const report = syncReportSchema.parse(sync.report);
  expect(report).toMatchObject({ run_id: runId, status: "done", mode: "full" });
  expect(report.streams.map(({ stream, inserted }) => [stream, inserted])).toContainEqual(["contacts", 12]);
  expect(events.filter(({ event }) => event.kind === "run-started")).toHaveLength(1);
  expect(await org.rows("SELECT run_id, status FROM sync.runs")).toEqual([[runId, "done"]]);
});
