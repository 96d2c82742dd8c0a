// Loaders and fetchers of different versions on one Redis: what one cannot read it leaves to others, for a while.
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { mirrorIdOf } from "../../../../src/queue/remote/loader/mirror-id.ts";
import { openMailbox } from "../../../../src/queue/remote/mailbox.ts";
import { requestOf } from "../../../../src/queue/remote/messages.ts";
import { sealAnswer } from "../../../../src/queue/remote/sealed-answers.ts";
import { afterTest } from "../../../support/after-test.ts";
import { anOrg, aRedis, NEWER } from "../worker-rig.ts";
import { aFetcher, aLoader, announced, aParcel, load, sealsOf } from "./remote-rig.ts";

const aQueue = (redis: { readonly url: string }, name: string) => {
  const client = new Redis(redis.url, { maxRetriesPerRequest: null });
  const queue = new Queue(name, { connection: client, prefix: "{duckmirror}" });
  afterTest(async () => {
    await queue.close();
    client.disconnect();
  });
  return { queue, client };
};

/** The request of a loader that waits for a fetcher, made one of another version. */
const waitingRequest = async (queue: Queue, versions: { readonly v: number; readonly since: number }) => {
  await expect.poll(() => queue.getWaitingCount(), { timeout: 120_000 }).toBe(1);
  const [job] = await queue.getWaiting();
  if (job === undefined) throw new Error("no request waits");
  await job.updateData({ ...job.data, ...versions });
  return job;
};

test("a fetcher leaves a newer request to a newer fetcher", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 2);
  const config = org.config(redis);
  const { queue } = aQueue(redis, "fetch");
  const loading = load(redis, config);
  const job = await waitingRequest(queue, { ...NEWER });
  await aFetcher(redis, [config]);
  const attempts = async () => (await queue.getJob(job.id ?? ""))?.attemptsStarted;
  await expect.poll(attempts, { timeout: 120_000 }).toBeGreaterThan(2);
  expect([await queue.getFailedCount(), org.service.log]).toEqual([0, []]);
  // A newer fetcher would take it; this one does once it can read it.
  await job.updateData({ ...job.data, ...NEWER, since: 1 });
  expect((await loading.result).report.status).toBe("done");
});

test("a request that no fetcher reads in time ends the run with the reason", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 2);
  const config = org.config(redis);
  const { queue } = aQueue(redis, "fetch");
  const loading = load(redis, config);
  await waitingRequest(queue, { ...NEWER });
  await aFetcher(redis, [config], { times: { unread: 0 } });
  const { report, error } = await loading.result;
  expect([report.status, report.requests, error?.code]).toEqual(["failed", 0, "JOB_VERSION"]);
});

test("an answer that only a newer loader reads ends the wait for it, and stays", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 2);
  const config = org.config(redis);
  const loader = await aLoader(redis, config);
  const parcel = aParcel("run-1-1", "run-1");
  await announced(loader.warehouse, parcel);
  const mirror = await mirrorIdOf(config.dataDir);
  const { queue, client } = aQueue(redis, `pages-${mirror}`);
  const signal = new AbortController().signal;
  await loader.sender.turn(signal);
  const sending = loader.sender.send(parcel, { signal, hardSignal: signal });
  const mailbox = openMailbox(client, mirror);
  const note = { ...NEWER, request: requestOf(parcel), nth: 1, sentAt: Date.now() };
  const packed = {
    note: { ...note, result: { kind: "denied" as const, code: "FENCED" as const, context: {} } },
    body: Buffer.alloc(0),
  };
  await mailbox.put("run-1-1.1", sealAnswer(sealsOf(config).seals, mirror, "run-1-1.1", packed));
  await queue.add("page", { ...NEWER, since: 1, delivery: "run-1-1.1" }, { jobId: "run-1-1.1" });
  expect(await sending).toMatchObject({ kind: "denied", error: { code: "JOB_VERSION" } });
  expect(await mailbox.deliveries()).toEqual(["run-1-1.1"]);
});
