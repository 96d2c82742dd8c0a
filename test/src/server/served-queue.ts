// A worker with Redis that has done one sync, and the server of `duckmirror worker` over it, on a real socket.
import type { Config } from "../../../src/core/config/config.ts";
import { snapshotPath } from "../../../src/core/data-dir.ts";
import { Secret } from "../../../src/core/secret.ts";
import type { TestRedis } from "../../support/redis.ts";
import { aRunningServer, serving } from "../../support/served.ts";
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
  const options = { ...serving(snapshotPath(org.dataDir)), key: new Secret(KEY), triggers: worker.triggers, fleet };
  return { url: (await aRunningServer(options)).url, redis, runId, profiles };
};
