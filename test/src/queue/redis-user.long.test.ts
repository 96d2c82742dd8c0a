// Redis with a user of its own for duckmirror, with the rights that docs/WORKER.md gives it and no others.
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { afterTest } from "../../support/after-test.ts";
import { documentedUser } from "../../support/documented-user.ts";
import { anAsk, anOrg, aRedis, aWorker, reached, someTriggers } from "./worker-rig.ts";

const PASSWORD = "a-password-of-its-own";
/** A Redis that nobody enters without a password, and the address with the user of the documents. */
const guarded = async () => {
  const redis = await aRedis({ password: "the-administrator's" });
  const admin = new Redis(redis.url);
  afterTest(async () => admin.disconnect());
  await admin.acl("SETUSER", ...documentedUser(PASSWORD));
  return { url: `redis://duckmirror:${PASSWORD}@127.0.0.1:${redis.port}`, admin };
};

test("a worker and its triggers work with the rights of the documents", async () => {
  const redis = await guarded();
  const org = await anOrg();
  const profiles = [org.config(redis, { DUCKMIRROR_SCHEDULE: "0 0 1 1 *" })];
  const { triggers } = await someTriggers(redis, profiles);
  const { logged } = await aWorker(redis, profiles);
  const { runId } = await triggers.start(anAsk());
  expect((await reached(triggers, runId)).state).toBe("done");
  expect([...logged, ...JSON.stringify(await redis.admin.acl("LOG"))].join("")).not.toMatch(/NOPERM|"command"/);
});

test("the user reaches no other key and changes no setting", async () => {
  const redis = await guarded();
  const user = new Redis(redis.url);
  afterTest(async () => user.disconnect());
  await expect(user.get("somebody's")).rejects.toThrow(/NOPERM/);
  await expect(user.config("SET", "maxmemory-policy", "allkeys-lru")).rejects.toThrow(/NOPERM/);
  await expect(user.acl("LIST")).rejects.toThrow(/NOPERM/);
});
