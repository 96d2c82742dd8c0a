// A process of its own that syncs once, so that a test can kill it. Arguments: base address, data directory, and more
// settings as JSON, as in the environment.

import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { syncJob } from "../../jobs/sync.ts";
import { runsOf } from "./runs-of.ts";

const [url = "", dataDir = "", more = "{}"] = process.argv.slice(2);
const env = z.record(z.string(), z.string()).parse(JSON.parse(more));
const clock = { now: () => Date.now(), sleep: () => setImmediate() };
const { configOf, context } = runsOf({ url, dataDir, env, clock, random: () => 0.5 });
await syncJob(configOf(), {}, context());
