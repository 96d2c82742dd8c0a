// A process of its own that syncs once, so that a test can kill it. Arguments: base address, data directory, and more
// settings as JSON, as in the environment.

import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { syncJob } from "../../jobs/sync.ts";
import { Secret } from "../../src/core/secret.ts";
import { configOf } from "./given-config.ts";

const [url = "", dataDir = "", more = "{}"] = process.argv.slice(2);
const settings = z.record(z.string(), z.string()).parse(JSON.parse(more));
const config = configOf(null, {
  DUCKMIRROR_BASE_URL: url,
  DUCKMIRROR_TOKEN: "test-token",
  DUCKMIRROR_DATA_DIR: dataDir,
  DUCKMIRROR_RATE_LIMIT: "100000",
  ...settings,
});
await syncJob(
  config,
  {},
  {
    clock: { now: () => Date.now(), sleep: () => setImmediate() },
    random: () => 0.5,
    emit: () => undefined,
    signal: new AbortController().signal,
    hardSignal: new AbortController().signal,
    version: "0.0.0",
    token: new Secret("test-token"),
  },
);
