// A fleet of mixed roles: after a loader was killed, the next sync of its mirror runs in a worker that sends its
// requests itself.
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { syncJob } from "../../../../../jobs/sync.ts";
import { systemClock } from "../../../../../src/core/clock.ts";
import type { Config } from "../../../../../src/core/config/config.ts";
import { sharedAccess } from "../../../../../src/queue/bullmq/shared-access.ts";
import { openAsking } from "../../../../../src/queue/redis/queue-connections.ts";
import { mirrorIdOf } from "../../../../../src/queue/remote/loader/mirror-id.ts";
import { afterTest } from "../../../../support/after-test.ts";
import { anOrg, aRedis } from "../../worker-rig.ts";
import { aFetcher, aLoader, announced, aParcel, TOKEN } from "../remote-rig.ts";

const never = () => new AbortController().signal;

/** What a killed loader left in Redis, for a request that two fetchers sent: the first died, the second answered. */
const aKilledLoader = async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 4);
  const config = org.config(redis);
  const loader = await aLoader(redis, config);
  const parcel = aParcel("run-1-1", "run-1");
  await announced(loader.warehouse, parcel);
  const client = new Redis(redis.url);
  afterTest(async () => client.disconnect());
  const mirror = await mirrorIdOf(config.dataDir);
  const key = `{duckmirror}:mirror:${mirror}`;
  await client.hset(`${key}:departures`, parcel.requestId, 1);
  await aFetcher(redis, [config]);
  await loader.sender.turn(never());
  const epoch = (await client.get(`${key}:epoch`)) ?? "";
  const sent = await loader.sender.send(parcel, { signal: never(), hardSignal: never() });
  expect(sent).toMatchObject({ kind: "outcome", lostAttempts: 1 });
  // Killed, it would not have ended its epoch.
  await loader.close();
  await client.set(`${key}:epoch`, epoch);
  await client.hset(`${key}:departures`, parcel.requestId, 2);
  return { org, config, client, key };
};

/** A sync as a worker of role all runs it. */
const syncItself = async (config: Config) => {
  if (config.redisUrl === null) throw new Error("without Redis");
  const connection = await openAsking(config.redisUrl, () => undefined);
  afterTest(() => connection.close());
  return syncJob(
    config,
    { streams: [], full: false, maxDurationMs: null, allowMassDelete: false },
    {
      clock: systemClock,
      random: Math.random,
      emit: () => undefined,
      signal: never(),
      hardSignal: never(),
      version: "0.0.0",
      token: TOKEN,
      connect: sharedAccess(connection),
    },
  );
};

test("a response that waits for a killed loader is loaded, not asked for again, and lost attempts stay in the ledger", async () => {
  const { org, config, client, key } = await aKilledLoader();
  expect(await client.hlen(`${key}:answers`)).toBe(1);
  const { report } = await syncItself(config);
  expect(report.status).toBe("done");
  expect(await org.rows("SELECT request_id, charge FROM sync.requests WHERE run_id = 'run-1' ORDER BY ALL")).toEqual([
    ["run-1-1", "spent"],
    ["run-1-1.lost1", "ambiguous"],
  ]);
  const charged = org.service.log.filter(({ status }) => status === 200);
  expect(await org.rows("SELECT count(*) FROM sync.requests WHERE charge = 'spent'")).toEqual([[charged.length]]);
  expect(charged.filter(({ path }) => path === "/v1/accounts").length).toBe(2);
  // Nothing more is sent for the killed loader.
  expect(await client.exists(`${key}:answers`)).toBe(0);
  expect(await client.exists(`${key}:departures`)).toBe(0);
  expect(await client.get(`${key}:epoch`)).toBe("ended");
});
