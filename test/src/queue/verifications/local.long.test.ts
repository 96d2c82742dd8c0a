// Verifications that a worker is asked for, with Redis and without: never beside a sync, and followed like one.
import { expect, test } from "vitest";
import { z } from "zod";
import type { Triggers } from "../../../../src/queue/asking/asks.ts";
import { aLocalWorker, anAsk, anOrg, aRedis, aWorker, reached } from "../worker-rig.ts";

/** An organization with a worker, over Redis or not. */
const WORKERS = {
  "without Redis": async () => {
    const org = await anOrg("default", 1);
    return { org, worker: aLocalWorker([org.config(null)]) };
  },
  "with Redis": async () => {
    const org = await anOrg("default", 1);
    const redis = await aRedis();
    return { org, worker: await aWorker(redis, [org.config(redis)]) };
  },
};

const verify = async (triggers: Triggers) => {
  if (triggers.verify === undefined) throw new Error("this worker makes no verifications");
  return triggers.verify({ profile: null });
};

const reportSchema = z.object({
  run_id: z.string(),
  credits: z.object({ spent: z.number() }),
  checks: z.array(z.object({ status: z.string() })).nonempty(),
  differences: z.array(z.unknown()),
});

const MODES = "SELECT mode, status FROM sync.runs ORDER BY started_at";

for (const [name, start] of Object.entries(WORKERS)) {
  test(`${name}: a verification waits for the sync under way, and reports what it compared`, async () => {
    const { org, worker } = await start();
    const { triggers } = worker;
    const release = org.hold();
    const sync = await triggers.start(anAsk({ streams: ["accounts", "signals"] }));
    await expect.poll(() => worker.events.map(({ event }) => event.kind)).toContain("run-started");
    const { runId, joined } = await verify(triggers);
    expect(joined).toBe(false);
    expect(await verify(triggers)).toEqual({ runId, joined: true });
    expect((await triggers.find(runId))?.state).toBe("queued");
    expect((await triggers.active()).map((run) => run.runId)).toEqual([sync.runId, runId]);
    release();
    const { state, error, report, profile } = await reached(triggers, runId);
    expect([state, error, profile]).toEqual(["done", null, "default"]);
    const { run_id, credits, differences } = reportSchema.parse(report);
    expect([run_id, differences]).toEqual([runId, []]);
    expect(credits.spent).toBeGreaterThan(0);
    expect(credits.spent).toBeLessThanOrEqual(20);
    expect((await triggers.find(sync.runId))?.state).toBe("done");
    expect(await org.rows(MODES)).toEqual([
      ["full", "done"],
      ["verify", "done"],
    ]);
  });

  test(`${name}: a sync waits for the verification under way; a cancelled one leaves nothing behind`, async () => {
    const { org, worker } = await start();
    const { triggers } = worker;
    const first = await triggers.start(anAsk({ streams: ["accounts"] }));
    await reached(triggers, first.runId);
    const release = org.hold();
    const { runId } = await verify(triggers);
    await reached(triggers, runId, ["running"]);
    const second = await triggers.start(anAsk({ streams: ["accounts"], full: true }));
    expect(await triggers.cancel(runId)).toBe(true);
    expect((await triggers.find(runId))?.state).toBe("running");
    release();
    expect(await reached(triggers, runId)).toMatchObject({ state: "cancelled", error: { code: "INTERRUPTED" } });
    expect(await triggers.cancel(runId)).toBe(false);
    expect((await reached(triggers, second.runId)).state).toBe("done");
  });
}

test("before anything is mirrored it fails with the reason, and of an unknown profile it is refused", async () => {
  const { worker } = await WORKERS["without Redis"]();
  const { triggers } = worker;
  const { runId } = await verify(triggers);
  expect(await reached(triggers, runId)).toMatchObject({ state: "failed", error: { code: "SNAPSHOT_MISSING" } });
  await expect(triggers.verify?.({ profile: "nobody" })).rejects.toMatchObject({ code: "PROFILE_UNKNOWN" });
});

test("one that found something wrong did its work, but is not done: partial", async () => {
  const { org, worker } = await WORKERS["without Redis"]();
  const { triggers } = worker;
  const sync = await triggers.start(anAsk({ streams: ["accounts"] }));
  await reached(triggers, sync.runId);
  for (const account of org.service.data.accounts) account.name = "Renamed";
  const { runId } = await verify(triggers);
  const { state, error, report } = await reached(triggers, runId);
  expect([state, error?.code]).toEqual(["partial", "VERIFY_DIFFERS"]);
  expect(reportSchema.parse(report).differences).not.toEqual([]);
});

test("a worker that stops ends the verification under way", async () => {
  const { org, worker } = await WORKERS["without Redis"]();
  const { triggers } = worker;
  const sync = await triggers.start(anAsk({ streams: ["accounts"] }));
  await reached(triggers, sync.runId);
  const release = org.hold();
  const { runId } = await verify(triggers);
  await reached(triggers, runId, ["running"]);
  const stopping = worker.stop();
  release();
  await stopping;
  expect((await triggers.find(runId))?.state).toBe("cancelled");
});
