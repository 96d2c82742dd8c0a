// Alerts of a worker, with and without Redis: they follow its syncs, a receiver that is away holds up no sync and gets the
// message later, and no address is logged.

import { expect, test, vi } from "vitest";
import { listAlerts } from "../../../../jobs/alerts.ts";
import { aSignal } from "../../../support/fake-data.ts";
import { type Answer, aReceiver, SECRET } from "../../alerts/a-receiver.ts";
import { aWorkerOf, synced, WAYS } from "../worker-rig.ts";

const until = (met: () => void | Promise<void>) => vi.waitFor(met, { timeout: 60_000, interval: 25 });

test.each(WAYS)("%s: an event follows a sync, and is sent once although the receiver was away", async (way) => {
  const state: { fault: Answer } = { fault: { status: 503 } };
  const { url, received, taken } = await aReceiver(() => state.fault);
  const sql = "SELECT n, key FROM changes WHERE table_name = 'signals'";
  const rules = [
    { name: "new", event: "changes", sql, url, secret_env: "KEY", allow_private: true },
    // This rule's receiver is never there.
    {
      name: "gone",
      event: "data_old",
      after: "0s",
      url: "http://127.0.0.1:1/hush-path",
      format: "slack",
      allow_private: true,
    },
  ];
  const env = { DUCKMIRROR_ALERTS: JSON.stringify(rules), DUCKMIRROR_MAX_AGE: "accounts=1ms", KEY: SECRET };
  const { org, worker } = await aWorkerOf(way, { env });
  const sync = async () => {
    const streams = ["accounts", "signals"];
    expect((await synced(worker.triggers, { streams, full: true })).state).toBe("done");
  };
  await sync();
  // The rule begins with what comes after its first pass.
  const config = org.config(null, env);
  await until(async () => expect(await listAlerts(config, ["new"])).toMatchObject([{ after: expect.any(Number) }]));
  org.service.data.signals.push(aSignal(900_001));
  await sync();
  await until(() => expect(received.length).toBeGreaterThan(0));
  state.fault = {};
  await until(() => expect(taken()).toHaveLength(1));
  expect(taken()[0]?.body.data.events).toMatchObject([{ key: "signals:900001", row: { key: "900001" } }]);
  expect(new Set(received.map(({ id }) => id)).size).toBe(1);
  await until(() => expect(worker.logged.join("\n")).toContain(" alert gone:"));
  expect(worker.logged.join()).not.toContain("hush-path");
});
