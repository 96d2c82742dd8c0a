// createMirror().alerts(): rules are listed, tried, sent and replayed as the command does.
import { expect, test } from "vitest";
import { createMirror } from "../../../src/library/mirror.ts";
import { change } from "../../support/change-mirror.ts";
import { aFolder } from "../../support/cli.ts";
import { aSignal } from "../../support/fake-data.ts";
import { aReceiver, SECRET } from "../alerts/a-receiver.ts";
import { aCheckpoint, aLoad } from "../warehouse/checkpoints.ts";

const SQL = "SELECT c.n, c.key FROM changes AS c WHERE c.table_name = 'signals' ORDER BY c.n";

const aMirror = async () => {
  const folder = aFolder();
  const { url, ...receiver } = await aReceiver();
  const rules = [
    { name: "new", event: "changes", sql: SQL, url_env: "URL", secret_env: "SECRET", allow_private: true },
  ];
  const settings = { data_dir: ".", alerts: JSON.stringify(rules) };
  const mirror = createMirror({ folder, settings, env: { URL: url, SECRET } });
  const store = (...ids: number[]) =>
    change(folder, (warehouse) =>
      warehouse.commit(aCheckpoint([aLoad("signals", JSON.parse(JSON.stringify(ids.map((id) => aSignal(id)))))])),
    );
  return { alerts: mirror.alerts(), store, url, ...receiver };
};

const only = <T>([one]: readonly T[]): T => {
  if (one === undefined) throw new Error("there is no rule");
  return one;
};

test("a rule is listed, tried without a trace, sends what is new once, and replays from an earlier change", async () => {
  const { alerts, store, received, url } = await aMirror();
  await store(1);
  const tried = await alerts.test("new");
  expect(tried).toMatchObject({ taken: true, error: null, found: [{ n: 1, row: { key: "1" } }] });
  expect(received.map(({ body }) => body.type)).toEqual(["duckmirror.test"]);
  expect(only(await alerts.list())).toMatchObject({ name: "new", event: "changes", after: null, sent: 0 });
  await alerts.send();
  await store(2, 3);
  expect(await alerts.send({ names: ["new"] })).toEqual([
    { name: "new", sent: 1, dead: 0, waiting: 0, nextAt: null, error: null },
  ]);
  expect(await alerts.send()).toMatchObject([{ sent: 0 }]);
  const listed = await alerts.list(["new"]);
  expect(listed).toMatchObject([{ after: 3, sent: 1, failed: 0, waiting: 0, dead: [], off: null, problem: null }]);
  expect(JSON.stringify(listed)).not.toContain(url);
  expect(await alerts.replay("new", { after: 1 })).toMatchObject({ sent: 1, error: null });
  const events = received.slice(1).map(({ body }) => body.data.events.map(({ n }) => n));
  expect(events).toEqual([
    [2, 3],
    [2, 3],
  ]);
});

test("no rules, and an unknown one, are refused", async () => {
  await expect(createMirror({ folder: aFolder() }).alerts().list()).rejects.toMatchObject({ code: "ALERTS_MISSING" });
  const { alerts } = await aMirror();
  await expect(alerts.replay("other")).rejects.toMatchObject({ code: "ALERT_UNKNOWN" });
  await expect(alerts.send({ names: ["other"] })).rejects.toMatchObject({ code: "ALERT_UNKNOWN" });
  const stopped = AbortSignal.abort(new Error("stopped"));
  await expect(alerts.send({ signal: stopped })).rejects.toThrow("stopped");
});
