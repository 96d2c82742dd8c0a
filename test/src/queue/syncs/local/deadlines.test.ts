// Deadlines without Redis: waiting and running syncs end when their time is over, and say so.
import { expect, test } from "vitest";
import { aLocalWorker, anAsk, anOrg, reached } from "../../worker-rig.ts";

const SPENT = { state: "stopped", error: { code: "DURATION_SPENT" }, report: { status: "stopped" } };

test("a sync that runs too long, and one that waits behind it, both end at their deadline", async () => {
  const org = await anOrg();
  const release = org.hold();
  const { triggers } = aLocalWorker([org.config(null, { DUCKMIRROR_SYNC_TIMEOUT: "5s" })]);
  const first = await triggers.start(anAsk({ streams: ["accounts"] }));
  const second = await triggers.start(anAsk({ streams: ["contacts"], timeoutMs: 100 }));
  expect(await reached(triggers, second.runId)).toMatchObject(SPENT);
  expect((await triggers.find(second.runId))?.report).toMatchObject({ requests: 0, credits: { spent: 0 } });
  expect(await reached(triggers, first.runId)).toMatchObject(SPENT);
  release();
});

test("a sync shows its progress, a sign of life and its deadline while it runs, and nothing of that when it has ended", async () => {
  const org = await anOrg();
  const release = org.hold("/v1/contacts");
  const { triggers } = aLocalWorker([org.config(null)]);
  const { runId } = await triggers.start(anAsk({ streams: ["accounts", "contacts"], timeoutMs: 3_600_000 }));
  const read = async () => (await triggers.find(runId))?.progress?.streams;
  await expect
    .poll(read, { timeout: 60_000 })
    .toContainEqual(expect.objectContaining({ stream: "accounts", state: "reading", rows: 3 }));
  const sync = await triggers.find(runId);
  expect(sync?.dueAt).toBeGreaterThan(Date.now());
  expect(sync?.progress?.heartbeat_at).toBeGreaterThanOrEqual(sync?.progress?.started_at ?? Number.NaN);
  release();
  expect(await reached(triggers, runId)).not.toHaveProperty("progress");
});
