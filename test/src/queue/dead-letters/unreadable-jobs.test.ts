// Jobs that another program wrote into Redis and that cannot be read: they hide no other job, and can be dropped.
import { expect, test } from "vitest";
import { isoTime } from "../../../../src/core/time.ts";
import { deadLetters, dropDeadLetters, retryDeadLetter } from "../../../../src/queue/dead-letters/dead-letters.ts";
import { readFleet } from "../../../../src/queue/fleet/fleet.ts";
import { keyOf, QUEUE } from "../../../../src/queue/redis/queues.ts";
import { anAskedFleet } from "../worker-rig.ts";

const GOOD = { name: "sync", data: "{}", opts: "{}", timestamp: "1", finishedOn: "2", failedReason: "DISK_FULL: full" };

test("an unreadable job is listed as one, beside the others, and dropped with them or alone", async () => {
  const { queues, redis: client, triggers } = await anAskedFleet();
  const failed = async (id: string, job: Readonly<Record<string, string>> | string) => {
    const key = keyOf(QUEUE.sync, id);
    if (typeof job === "string") await client.set(key, job);
    else await client.hset(key, job);
    await client.zadd(keyOf(QUEUE.sync, "failed"), 1, id);
  };
  await failed("good", GOOD);
  await failed("data", { ...GOOD, data: "{" });
  await failed("opts", { ...GOOD, opts: "{" });
  await failed("progress", { ...GOOD, progress: "{" });
  await failed("text", "no job at all");
  await failed("time", { ...GOOD, timestamp: "99999999999999999", finishedOn: "1e400" });
  await client.hset(keyOf(QUEUE.sync, "waits"), { ...GOOD, data: "{" });
  await client.lpush(keyOf(QUEUE.sync, "wait"), "waits");

  const letters = await deadLetters(queues);
  expect(letters.map(({ id, problem }) => [id, problem?.code]).sort()).toEqual([
    ["data", "JOB_VERSION"],
    ["good", "DISK_FULL"],
    ["opts", "JOB_VERSION"],
    ["progress", "JOB_VERSION"],
    ["text", "JOB_VERSION"],
    ["time", "DISK_FULL"],
  ]);
  for (const { failedAt } of letters) expect(isoTime(failedAt)).toMatch(/Z$/);
  expect((await readFleet(client, queues)).queues.find(({ name }) => name === "sync")).toMatchObject({ failed: 6 });
  await expect(retryDeadLetter(queues, triggers, "data")).rejects.toMatchObject({ code: "JOB_VERSION" });
  expect(await dropDeadLetters(queues, { by: "id", ids: ["text"] })).toEqual([{ id: "text", queue: "sync" }]);
  expect(await dropDeadLetters(queues, { by: "queue", queues: ["sync"] })).toHaveLength(5);
  expect(await deadLetters(queues)).toEqual([]);
  expect(
    await client.exists(...["good", "data", "opts", "progress", "text", "time"].map((id) => keyOf(QUEUE.sync, id))),
  ).toBe(0);
});
