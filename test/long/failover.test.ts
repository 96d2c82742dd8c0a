// Redis as operators run it: Sentinel promotes the replica in the middle of a sync, a user of its own with a password, and
// clocks that are wrong by a day. Each trigger ends well, and the mirror is the source. Shows P36.

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runQuery } from "../../src/warehouse/read/query.ts";
import {
  aSandbox,
  type BuiltRun,
  type Env,
  startBuilt,
  triggerWell,
  WORKER,
  workerEnv,
} from "../acceptance/built-cli.ts";
import { differences } from "../acceptance/compare.ts";
import { readService } from "../acceptance/service-reader.ts";
import { documentedUser } from "../support/documented-user.ts";
import { startRedis } from "../support/redis.ts";
import { startPromoted } from "./promoted-redis.ts";
import { logRequests } from "./service-log.ts";

const DAY_MS = 86_400_000;
const SHIFT = fileURLToPath(new URL("./shifted-clock.mjs", import.meta.url));

const sandbox = await aSandbox({ seed: 63, accounts: 8, now: Date.UTC(2026, 10, 20), latencyMs: 40 });
const service = await readService(sandbox);
const log = logRequests(sandbox);

const syncs = async (env: Env, workers: readonly BuiltRun[], ...argv: readonly string[]) => {
  const said = () => workers.map((worker) => worker.err()).join("\n");
  const { warehouse } = await triggerWell(env, ["--timeout", "4m", ...argv], said);
  return warehouse;
};
const isWhole = async (snapshot: string) => expect(await differences(snapshot, service)).toEqual([]);

test("Sentinel promotes the replica during a sync of two workers, which have a user of their own", async () => {
  const redis = await startPromoted();
  await redis.onBoth("ACL", "SETUSER", ...documentedUser("secret"));
  const env = workerEnv(sandbox, { REDIS_URL: `redis://duckmirror:secret@${redis.host}` });
  const workers = [startBuilt(WORKER, env), startBuilt(WORKER, env)];
  try {
    const underWay = log.afterRequests(6);
    const asked = syncs(env, workers);
    await underWay;
    await redis.failOver();
    await isWhole(await asked);
    // And the promoted one serves the next.
    await isWhole(await syncs(env, workers, "--full"));
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
    await redis.end();
  }
}, 300_000);

const CLOCKS: readonly (readonly [what: string, clocks: readonly number[]])[] = [
  ["a worker a day ahead", [DAY_MS]],
  ["a worker a day behind", [-DAY_MS]],
  ["two workers, a day ahead and a day behind", [DAY_MS, -DAY_MS]],
];

test.each(CLOCKS)(
  "%s of Redis",
  async (_, clocks) => {
    const redis = await startRedis();
    const env = workerEnv(sandbox, { REDIS_URL: redis.url });
    const workers = clocks.map((shiftMs) =>
      startBuilt(WORKER, { ...env, NODE_OPTIONS: `--import ${SHIFT}`, SHIFT_MS: `${shiftMs}` }),
    );
    try {
      await isWhole(await syncs(env, workers));
      const [snapshot] = await Promise.all([syncs(env, workers, "--full"), syncs(env, workers, "accounts")]);
      await isWhole(snapshot);
      const sql = "SELECT count(*)::INTEGER FROM sync.requests WHERE charge = 'ambiguous'";
      expect((await runQuery({ snapshot, sql })).rows).toEqual([[0]]);
    } finally {
      await Promise.all(workers.map((worker) => worker.kill()));
      await redis.kill();
    }
  },
  300_000,
);
