// sync beside a worker: with REDIS_URL rate and credits are those of all processes; without Redis nothing leaves.
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSandbox } from "../../../../src/sandbox/sandbox.ts";
import { cli } from "../../../support/cli.ts";
import { startRedis } from "../../../support/redis.ts";

const opened: (() => Promise<unknown>)[] = [];
let sandbox: Awaited<ReturnType<typeof startSandbox>>;
let redis: Awaited<ReturnType<typeof startRedis>>;
let dir = "";
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "duckmirror-shared-"));
  opened.push(() => rm(dir, { recursive: true, force: true }));
  sandbox = await startSandbox({ accounts: 3, requestsPerMinute: 6000 });
  opened.push(sandbox.close);
  redis = await startRedis();
  opened.push(() => redis.stop());
});
afterAll(async () => {
  for (const close of opened.reverse()) await close();
});

const sync = (redisUrl: string) =>
  cli(["sync", "accounts", "signals", "--json"], {
    cwd: dir,
    env: { DUCKMIRROR_BASE_URL: sandbox.url, DUCKMIRROR_TOKEN: sandbox.token, REDIS_URL: redisUrl },
  });

test("what a sync spent is in the ledger that all processes share, under a key that shows no token", async () => {
  const { code, out } = await sync(redis.url);
  expect(code).toBe(0);
  const report = JSON.parse(out);
  const client = new Redis(redis.url);
  try {
    const keys = await client.keys("*");
    const ledger = keys.find((key) => key.endsWith(":ledger"));
    expect(keys.some((key) => key.endsWith(":limiter"))).toBe(true);
    const organization = createHash("sha256").update(sandbox.token).digest("hex");
    for (const key of keys) expect(key).not.toMatch(new RegExp(`${sandbox.token}|${organization}`));
    const text = (await client.get(ledger ?? "")) ?? "";
    expect(text).toContain(`"remaining":${report.credits.remaining}`);
    expect(text).not.toContain(sandbox.token);
  } finally {
    client.disconnect();
  }
});

test("a Redis that is configured but away stops the sync before anything is sent", async () => {
  const before = sandbox.stats().requests;
  const { code, err } = await sync("redis://127.0.0.1:1");
  expect([code, err]).toEqual([5, expect.stringMatching(/REDIS_UNAVAILABLE[\s\S]*hint/)]);
  expect(sandbox.stats().requests).toBe(before);
});
