// Alerts of a worker, with and without Redis: they follow its syncs, a receiver that is away holds up no sync and gets the
// message later, and no address is logged.

import { expect, test, vi } from "vitest";
import { deadLetters } from "../../../../src/queue/dead-letters/dead-letters.ts";
import { aSignal } from "../../../support/fake-data.ts";
import { type Answer, aReceiver, SECRET } from "../../alerts/a-receiver.ts";
import { aLocalWorker, anOrg, aRedis, aWorker, someTriggers, synced } from "../worker-rig.ts";

const until = (met: () => void | Promise<void>) => vi.waitFor(met, { timeout: 60_000, interval: 25 });
const to = (url: string) => ({ url, format: "slack", allow_private: true });

test("without Redis: an event follows a sync, is said once, and is sent although the receiver was away", async () => {
  const org = await anOrg();
  const { url, received, taken } = await aReceiver((nth) => (nth === 0 ? { status: 503 } : {}));
  // Another rule's receiver is never there.
  const rules = [
    { name: "gone", event: "data_old", after: "0s", ...to("http://127.0.0.1:1/hush-path") },
    { name: "old", event: "data_old", after: "0s", ...to(url) },
  ];
  const config = org.config(null, { DUCKMIRROR_ALERTS: JSON.stringify(rules), DUCKMIRROR_MAX_AGE: "accounts=1ms" });
  const worker = aLocalWorker([config], { random: () => 0 });
  for (let sync = 0; sync < 2; sync += 1) {
    expect((await synced(worker.triggers)).state).toBe("done");
  }
  await until(() => expect(taken()).toHaveLength(1));
  expect(received[0]?.text).toBe(received[1]?.text);
  expect(received[1]?.text).toMatch(/\*old\*\\n• data\.old stream: accounts, due_at: /);
  await until(() => expect(worker.logged.filter((line) => line.includes(" alert gone:")).length).toBeGreaterThan(0));
  expect(worker.logged.join()).not.toContain("hush-path");
});

test("with Redis: changes are sent after the sync that brought them, and what is away is tried again", async () => {
  const redis = await aRedis();
  const org = await anOrg();
  const state: { fault: Answer } = { fault: { status: 503 } };
  const { url, received, taken } = await aReceiver(() => state.fault);
  const sql = "SELECT n, key FROM changes WHERE table_name = 'signals'";
  const rule = { name: "new", event: "changes", sql, url, secret_env: "KEY", allow_private: true };
  const config = org.config(redis, { DUCKMIRROR_ALERTS: JSON.stringify([rule]), KEY: SECRET });
  const worker = await aWorker(redis, [config], { times: { alertCheck: 200 } });
  const sync = async () => {
    expect((await synced(worker.triggers, { full: true })).state).toBe("done");
  };
  await sync();
  const { queues } = await someTriggers(redis, [config]);
  // The rule begins with what comes after its first pass.
  await until(async () => expect(await queues.alert.getCompletedCount()).toBeGreaterThan(1));
  org.service.data.signals.push(aSignal(900_001));
  await sync();
  await until(() => expect(received.length).toBeGreaterThan(0));
  state.fault = {};
  await until(() => expect(taken()).toHaveLength(1));
  expect(taken()[0]?.body.data.events).toMatchObject([{ key: "signals:900001", row: { key: "900001" } }]);
  expect(new Set(received.map(({ id }) => id)).size).toBe(1);
  expect(await deadLetters(queues)).toEqual([]);
});
