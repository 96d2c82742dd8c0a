// The worker without Redis: the same triggers, jobs and reports, in one process.

import { expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { syncReportSchema } from "../../../../src/core/report/sync-report.ts";
import { openWarehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { aLocalWorker, anAsk, anOrg, aRedis, aWorker, reached } from "../worker-rig.ts";

test("a sync ends with the same report as with Redis", async () => {
  const redis = await aRedis();
  const [here, there] = [await anOrg(), await anOrg()];
  const local = aLocalWorker([here.config(null)]);
  const queued = await aWorker(redis, [there.config(redis)]);
  const reports = [];
  for (const { triggers } of [local, queued]) {
    const { runId } = await triggers.start(anAsk());
    const { state, error, report } = await reached(triggers, runId);
    expect([state, error]).toEqual(["done", null]);
    const { run_id, started_at, finished_at, warehouse, ...rest } = syncReportSchema.parse(report);
    expect(run_id).toBe(runId);
    reports.push(rest);
  }
  // What differs is only when the usage history was read.
  const withoutUsage = reports.map(({ requests, credits, streams, ...rest }) => ({
    ...rest,
    streams: streams.filter(({ stream }) => stream !== "usage"),
  }));
  expect(withoutUsage[0]).toEqual(withoutUsage[1]);
  const tables = "SELECT stream, status, walk_id IS NULL FROM sync.stream_state ORDER BY ALL";
  expect(await here.rows(tables)).toEqual(await there.rows(tables));
});

test("a fault of the worker ends its sync as failed, and the next sync of the profile runs", async () => {
  const org = await anOrg();
  let faults = 0;
  const { triggers } = aLocalWorker([org.config(null)], {
    emit: (event) => {
      if (event.kind !== "run-started" || faults > 0) return;
      faults += 1;
      throw new Error("no listener");
    },
    log: () => {
      throw new Error("no log");
    },
  });
  const first = await triggers.start(anAsk({ streams: ["accounts"] }));
  const second = await triggers.start(anAsk({ streams: ["signals"] }));
  expect(await reached(triggers, first.runId)).toMatchObject({ state: "failed", error: { message: "no log" } });
  expect((await reached(triggers, second.runId)).state).toBe("done");
});

test("while another process writes, the sync waits and then runs", async () => {
  const org = await anOrg();
  const config = org.config(null);
  const other = await openWarehouse({ dataDir: config.dataDir, clock: systemClock });
  const { triggers } = aLocalWorker([config]);
  const { runId } = await triggers.start(anAsk({ streams: ["accounts"] }));
  await reached(triggers, runId, ["running"]);
  await other.close();
  expect((await reached(triggers, runId)).state).toBe("done");
});

test("a schedule asks for its streams until the worker stops", async () => {
  const org = await anOrg();
  const ticks: (() => void)[] = [];
  const seen: unknown[] = [];
  const schedule = { cron: "17 5 * * *", timeZone: "Europe/Berlin", jitterMs: 0, streams: ["accounts"], full: true };
  const worker = aLocalWorker([{ ...org.config(null), schedules: [schedule] }], {
    scheduler: (given, tick) => {
      seen.push(given);
      ticks.push(tick);
      return { stop: () => void ticks.splice(0) };
    },
  });
  expect(seen).toMatchObject([{ cron: "17 5 * * *", timeZone: "Europe/Berlin" }]);
  ticks[0]?.();
  await expect.poll(() => worker.triggers.active(), { timeout: 120_000 }).toHaveLength(1);
  const [sync] = await worker.triggers.active();
  const { report } = await reached(worker.triggers, sync?.runId ?? "");
  expect(syncReportSchema.parse(report)).toMatchObject({ mode: "full", streams: [{ stream: "accounts" }] });
  await worker.stop();
  expect(ticks).toEqual([]);
});
