// A rule over a mirror of its own, with a real receiver, on virtual time.
import { alertsJob, listAlerts } from "../../../jobs/alerts.ts";
import { runQuery } from "../../../src/warehouse/read/query.ts";
import { change } from "../../support/change-mirror.ts";
import { configOf } from "../../support/given-config.ts";
import { simulatedClock } from "../../support/sync-rig.ts";
import { aCheckpoint, aLoad } from "../warehouse/checkpoints.ts";
import { tempDir } from "../warehouse/temp-dir.ts";
import { type Answer, aReceiver, SECRET } from "./a-receiver.ts";

const only = <T>(found: readonly T[]): T => {
  const [one] = found;
  if (one === undefined) throw new Error("there is no rule");
  return one;
};

/** `boxed`: the query runs in its own process, as it does for users; that takes a second. */
export const aRule = async (rule: object, answer?: (nth: number) => Answer, boxed = false) => {
  const dataDir = tempDir();
  const receiver = await aReceiver(answer);
  const config = configOf(null, {
    DUCKMIRROR_DATA_DIR: dataDir,
    DUCKMIRROR_ALERTS: JSON.stringify([
      { name: "a", event: "changes", url_env: "URL", secret_env: "SECRET", allow_private: true, ...rule },
    ]),
    URL: receiver.url,
    SECRET,
  });
  const clock = simulatedClock();
  const query = boxed ? {} : { query: runQuery };
  const context: Parameters<typeof alertsJob>[2] = {
    ...{ clock, random: () => 0, signal: new AbortController().signal, ...query },
  };
  const pass = async () => only(await alertsJob(config, [], context));
  return {
    ...{ dataDir, config, clock, context, pass, ...receiver },
    /** Events that a pass sends, which must end well. */
    events: async () => {
      const before = receiver.received.length;
      const { error } = await pass();
      if (error !== null) throw error;
      return receiver.received.slice(before).flatMap(({ body }) => body.data.events);
    },
    state: async () => only(await listAlerts(config, [])),
    store: (table: "accounts" | "contacts" | "signals", rows: readonly object[]) =>
      change(dataDir, (warehouse) => warehouse.commit(aCheckpoint([aLoad(table, JSON.parse(JSON.stringify(rows)))]))),
    run: (...statements: string[]) =>
      change(dataDir, async ({ database }) => {
        for (const sql of statements) await database.run(sql);
      }),
  };
};
