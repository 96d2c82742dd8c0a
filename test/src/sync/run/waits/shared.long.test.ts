import { expect, onTestFinished, test, vi } from "vitest";
import type { OpenAccess } from "../../../../../jobs/service-access.ts";
import { syncJob } from "../../../../../jobs/sync.ts";
import { createOrganizationLedger } from "../../../../../src/budget/credits/organization-ledger.ts";
import { redisLedger } from "../../../../../src/budget/limits-in-redis.ts";
import { organizationKey } from "../../../../../src/budget/store/in-redis.ts";
import { checkRedis, connectRedis } from "../../../../../src/budget/store/redis-connection.ts";
import { type Clock, systemClock } from "../../../../../src/core/clock.ts";
import type { Config } from "../../../../../src/core/config/config.ts";
import { EXIT } from "../../../../../src/core/errors.ts";
import { sharedAccess, sharedLimits } from "../../../../../src/queue/worker/shared-access.ts";
import { startFakeServer } from "../../../../support/fake-server.ts";
import { startRedis } from "../../../../support/redis.ts";
import { standingClock } from "../../../../support/standing-clock.ts";
import {
  configOf,
  contextOf,
  deferred,
  ENDS_WITH_CREDIT,
  type Enter,
  FAST,
  runPair,
  SHORT_MS,
  service,
  TOKEN,
  useCompleteMirror,
} from "./pair.ts";

const aMirror = useCompleteMirror();
const RESETS_AT = Date.now() + 10 * 86_400_000;
const left = (remaining: number) => ({ limit: 100, used: 100 - remaining, remaining, resetsAt: RESETS_AT });
const PATIENCE = { timeout: 120_000, interval: 5 };
/** No command fails by itself: only the end of the run ends its wait. */
const NEVER_MS = 600_000;
const SYNC = { full: true };

const aRedis = async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.kill());
  return redis;
};

const aConnection = async (redis: { readonly url: string }) => {
  const connection = connectRedis(redis.url, { commandTimeoutMs: NEVER_MS });
  onTestFinished(() => connection.close());
  await checkRedis(connection);
  return connection;
};

type Connected = Awaited<ReturnType<typeof aConnection>>;

const ledgerOf = (connection: Connected, config: Config, clock: Clock) => {
  const limits = sharedLimits(config);
  const place = { connection, organization: organizationKey(config.baseUrl ?? "", TOKEN.reveal()), clock };
  return createOrganizationLedger({ clock, store: redisLedger(place, limits), limits });
};

/** Turns and sendings under way. */
const counting = (connect: OpenAccess) => {
  let underWay = 0;
  const counted = <A extends readonly unknown[], T>(work: (...args: A) => Promise<T>) => {
    return (...args: A): Promise<T> => {
      underWay += 1;
      return work(...args).finally(() => {
        underWay -= 1;
      });
    };
  };
  const connected: OpenAccess = async (config, context) => {
    const connection = await connect(config, context);
    const { sender } = connection;
    return { ...connection, sender: { ...sender, acquire: counted(sender.acquire), send: counted(sender.send) } };
  };
  return { connect: connected, underWay: () => underWay };
};

const ENTER: Readonly<Record<string, Enter>> = {
  "credits of other processes": async ({ clock, url, dataDir, arrived, answerFirst }) => {
    answerFirst();
    const redis = await aRedis();
    const connection = await aConnection(redis);
    const config = configOf(url, dataDir, { ...FAST, REDIS_URL: redis.url });
    // The held request takes the last one.
    await ledgerOf(connection, config, clock).settle("none", "free", { quota: left(2), sentAt: clock.now() });
    const connect = sharedAccess(connection);
    return { clock, config, connect, waits: () => arrived.then(() => clock.stands((ms) => ms === 200)), goesOn: true };
  },
  "Redis, in a run": async ({ clock, url, dataDir, arrived }) => {
    const redis = await aRedis();
    const config = configOf(url, dataDir, { ...FAST, DUCKMIRROR_CONCURRENCY: "2", REDIS_URL: redis.url });
    const { connect, underWay } = counting(sharedAccess(await aConnection(redis)));
    const waits = async () => {
      await arrived;
      redis.pause();
      // The first request is on the wire, and the next one asks Redis for its turn or its credit.
      const short = () => clock.standing().filter((ms) => ms < 1_000);
      await vi.waitFor(() => expect([underWay(), short()]).toEqual([2, []]), PATIENCE);
    };
    // It may have been granted just before.
    return { clock, config, connect, waits, mayFollow: 1, goesOn: true };
  },
};

for (const [wait, enter] of Object.entries(ENTER)) {
  for (const end of ENDS_WITH_CREDIT) {
    test(`a run that waits for ${wait} ends at once by ${end}`, async () => runPair(await aMirror(), enter, end));
  }
}

// Whether a figure is older than the run is seen on Redis's clock, which does not stand.
test("a run that waits for credits of other processes ends at once by budget", async () => {
  const redis = await aRedis();
  const asked = deferred();
  const release = deferred();
  let requests = 0;
  const server = await startFakeServer(service(), async () => {
    requests += 1;
    asked.resolve();
    await release.promise;
  });
  onTestFinished(() => server.close());
  const config = configOf(server.url, await aMirror(), { ...FAST, REDIS_URL: redis.url });
  const ledger = ledgerOf(await aConnection(redis), config, systemClock);
  await ledger.settle("none", "free", { quota: left(1), sentAt: Date.now() });
  const running = syncJob(config, SYNC, {
    ...contextOf(standingClock(SHORT_MS)),
    clock: systemClock,
    connect: sharedAccess(await aConnection(redis)),
    signal: new AbortController().signal,
  });
  await asked.promise;
  // Said again after the run began: it is believed.
  await ledger.settle("none", "free", { quota: left(1), sentAt: Date.now() });
  release.resolve();
  const { error } = await running;
  expect(error).toMatchObject({ exitCode: EXIT.budget });
  expect(requests).toBe(1);
});
