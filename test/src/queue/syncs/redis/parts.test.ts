// Syncs of a part over the worker: one list anew, or what is dated after a day.
import { expect, test } from "vitest";
import { deadLetters, retryLetter } from "../../../../../src/queue/dead-letters/dead-letters.ts";
import { aFleet, anAsk, aWorker, reached, someTriggers } from "../../worker-rig.ts";

const listsOf = (log: readonly { readonly path: string }[]) => new Set(log.map(({ path }) => path));

test("a list is read anew although a sync waits, and no request for it is lost: it joins only its like", async () => {
  const { redis, org, profiles } = await aFleet();
  const { triggers } = await aWorker(redis, profiles);
  await reached(triggers, (await triggers.start(anAsk({ streams: ["accounts", "signals"] }))).runId);
  const elsewhere = await someTriggers(redis, profiles);
  await elsewhere.queues.sync.pause();
  const plain = await triggers.start(anAsk());
  const reset = await triggers.start(anAsk({ reset: ["signals"], idempotencyKey: "k" }));
  expect(reset.joined).toBe(false);
  expect(await elsewhere.triggers.start(anAsk({ reset: ["signals"] }))).toEqual({ ...reset, joined: true });
  expect(await triggers.start(anAsk({ streams: ["signals"] }))).toEqual({ ...plain, joined: true });
  await expect(triggers.start(anAsk({ idempotencyKey: "k" }))).rejects.toMatchObject({ code: "IDEMPOTENCY_REUSED" });
  await triggers.cancel(plain.runId);
  org.service.log.length = 0;
  await elsewhere.queues.sync.resume();
  expect(await reached(triggers, reset.runId)).toMatchObject({
    state: "done",
    report: { streams: [{ stream: "signals", mode: "walk", status: "done", complete: true }] },
  });
  expect(listsOf(org.service.log)).toEqual(new Set(["/v1/signals"]));
});

test("a sync of what is dated after a day reads that and nothing else", async () => {
  const { redis, org, profiles } = await aFleet();
  const { triggers } = await aWorker(redis, profiles);
  const { runId } = await triggers.start(anAsk({ streams: ["signals"], since: "2020-01-01" }));
  expect(await reached(triggers, runId)).toMatchObject({ state: "done" });
  expect(listsOf(org.service.log)).toEqual(new Set(["/v1/signals"]));
  const unsupported = triggers.start(anAsk({ streams: ["accounts"], since: "2020-01-01" }));
  await expect(unsupported).rejects.toMatchObject({ code: "SINCE_UNSUPPORTED" });
});

test("a list that the mirror does not read yet ends as by sync, and a dead letter is retried with its list", async () => {
  const { redis, profiles } = await aFleet();
  const { triggers } = await aWorker(redis, profiles);
  const { runId } = await triggers.start(anAsk({ reset: ["filings:nobody"] }));
  const problem = { code: "USAGE", message: "--reset filings:nobody: the mirror reads no such list yet" };
  expect(await reached(triggers, runId)).toMatchObject({ state: "failed", error: problem });
  const { queues } = await someTriggers(redis, profiles);
  expect(await deadLetters(queues)).toMatchObject([{ id: runId, problem }]);
  const again = (await retryLetter(queues, triggers, runId)) ?? "";
  expect((await queues.sync.getJob(again))?.data).toMatchObject({ reset: ["filings:nobody"] });
  expect(await reached(triggers, again)).toMatchObject({ state: "failed", error: problem });
});
