// sync beside a worker: with REDIS_URL rate and credits are those of all processes; without Redis nothing leaves.
import { createHash } from "node:crypto";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { startSandbox } from "../../../../src/sandbox/sandbox.ts";
import { afterTest } from "../../../support/after-test.ts";
import { aPlaceFor } from "../../../support/cli.ts";
import { forFile } from "../../../support/for-file.ts";
import { startRedis } from "../../../support/redis.ts";

const sandbox = await forFile(startSandbox({ accounts: 3, requestsPerMinute: 6000, threads: 1 }));
const redis = await forFile(startRedis());
const sync = (url: string) => aPlaceFor(sandbox, { REDIS_URL: url }).run("sync", "accounts", "signals", "--json");

test("what a sync spent is in the ledger that all processes share, under a key that shows no token", async () => {
  const { code, out } = await sync(redis.url);
  expect(code).toBe(0);
  const report = JSON.parse(out);
  const client = new Redis(redis.url);
  afterTest(() => client.disconnect());
  const keys = await client.keys("*");
  const ledger = keys.find((key) => key.endsWith(":ledger"));
  expect(keys.some((key) => key.endsWith(":limiter"))).toBe(true);
  const organization = createHash("sha256").update(sandbox.token).digest("hex");
  for (const key of keys) expect(key).not.toMatch(new RegExp(`${sandbox.token}|${organization}`));
  const text = (await client.get(ledger ?? "")) ?? "";
  expect(text).toContain(`"remaining":${report.credits.remaining}`);
  expect(text).not.toContain(sandbox.token);
});

test("a Redis that is configured but away stops the sync before anything is sent", async () => {
  const before = sandbox.stats().requests;
  const { code, err } = await sync("redis://127.0.0.1:1");
  expect([code, err]).toEqual([5, expect.stringMatching(/REDIS_UNAVAILABLE[\s\S]*hint/)]);
  expect(sandbox.stats().requests).toBe(before);
});
