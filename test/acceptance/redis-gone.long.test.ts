// A worker whose Redis is gone or full ends by itself: on SIGTERM, or with the reason.
import { expect, test } from "vitest";
import { startRedis } from "../support/redis.ts";
import { startBuilt } from "./built-cli.ts";
import { tempFolder } from "./temp-folder.ts";

const settings = (redisUrl: string) => ({
  DUCKMIRROR_BASE_URL: "http://127.0.0.1:9",
  DUCKMIRROR_TOKEN: "test-token",
  DUCKMIRROR_DATA_DIR: tempFolder(),
  REDIS_URL: redisUrl,
});

test("SIGTERM ends a worker whose Redis is gone", async () => {
  const redis = await startRedis();
  const worker = startBuilt(["worker", "--listen", "127.0.0.1:0", "--json"], settings(redis.url));
  await expect.poll(() => worker.out()).toContain("\n");
  await redis.kill();
  worker.child.kill("SIGTERM");
  expect((await worker.ended).code).toBe(0);
});

test("a worker that starts on a full Redis ends and says so", async () => {
  const redis = await startRedis({ maxmemory: "1mb" });
  const worker = startBuilt(["worker", "--listen", "127.0.0.1:0"], settings(redis.url));
  const { code, err } = await worker.ended;
  expect(code).toBe(5);
  expect(err).toContain("error REDIS_FULL");
  await redis.kill();
});
