// A worker with Redis that has done one sync, and the server of `duckmirror worker` over it, on a real socket.
import { systemClock } from "../../../src/core/clock.ts";
import type { Config } from "../../../src/core/config/config.ts";
import { snapshotPath } from "../../../src/core/data-dir.ts";
import { Secret } from "../../../src/core/secret.ts";
import { startServer } from "../../../src/server/http/listen.ts";
import { afterTest } from "../../support/after-test.ts";
import type { TestRedis } from "../../support/redis.ts";
import { anAsk, anOrg, aRedis, aWorker, reached } from "../queue/worker-rig.ts";

const KEY = "0123456789abcdef0123456789abcdef";
export const BEARER = { authorization: `Bearer ${KEY}` };

export interface ServedQueue {
  /** Base address of the server. */
  readonly url: string;
  readonly redis: TestRedis;
  /** A sync that has ended. */
  readonly runId: string;
  readonly profiles: readonly Config[];
}

export const serveQueue = async (): Promise<ServedQueue> => {
  const org = await anOrg("default", 1);
  const redis = await aRedis();
  const profiles = [org.config(redis)];
  const worker = await aWorker(redis, profiles);
  const { runId } = await worker.triggers.start(anAsk({ streams: ["accounts"] }));
  await reached(worker.triggers, runId);
  const { fleet } = worker;
  if (fleet === undefined) throw new Error("a worker with Redis has queues");
  const server = await startServer(
    {
      profiles: [{ name: "default", snapshot: snapshotPath(org.dataDir), ratePerMinute: null }],
      key: new Secret(KEY),
      clock: systemClock,
      version: "1.2.3",
      triggers: worker.triggers,
      fleet,
      onFault: (error) => {
        throw error;
      },
    },
    { host: "127.0.0.1", port: 0 },
  );
  afterTest(server.close);
  return { url: server.url, redis, runId, profiles };
};
