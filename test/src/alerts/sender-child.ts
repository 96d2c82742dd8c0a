// A process that evaluates and sends alerts until it is killed. Arguments: data directory, rules as JSON, start of its clock,
// which runs a thousand times as fast, so that waits take milliseconds.

import { alertsJob } from "../../../jobs/alerts.ts";
import { runQuery } from "../../../src/warehouse/read/query.ts";
import { configOf } from "../../support/given-config.ts";
import { SECRET } from "./a-receiver.ts";

const [dataDir = "", rules = "", start = "0"] = process.argv.slice(2);
const config = configOf(null, { DUCKMIRROR_DATA_DIR: dataDir, DUCKMIRROR_ALERTS: rules, SECRET });
const clock = { now: () => Number(start) + (Date.now() - Number(start)) * 1000 };
const context = { clock, random: Math.random, signal: new AbortController().signal, query: runQuery };
for (;;) {
  const passes = await alertsJob(config, [], context);
  process.send?.(passes.map(({ sent, waiting, error }) => ({ sent, waiting, error: error?.message ?? null })));
  await new Promise((done) => setTimeout(done, 20));
}
