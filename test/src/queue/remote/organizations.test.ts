// What a fetcher keeps of an organization while it is refused again and again.
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { Secret } from "../../../../src/core/secret.ts";
import { openAsking } from "../../../../src/queue/redis/queue-connections.ts";
import { createOrganizations } from "../../../../src/queue/remote/organizations.ts";
import { afterTest } from "../../../support/after-test.ts";
import { configOf } from "../../../support/given-config.ts";
import { aRedis } from "../worker-rig.ts";

test("a profile that is dropped with the same token keeps its client; another token gets another one", async () => {
  const redis = await aRedis();
  const connection = await openAsking(new Secret(redis.url), () => undefined);
  afterTest(() => connection.close());
  let token = "first.token.signature";
  const organizations = createOrganizations({
    connection,
    profiles: [configOf(null, { DUCKMIRROR_BASE_URL: "http://127.0.0.1:9" })],
    tokenOf: async () => new Secret(token),
    version: "0.0.0",
    clock: systemClock,
    storeClock: systemClock,
    connections: 4,
  });
  afterTest(() => organizations.close());
  const first = await organizations.open("default");
  organizations.drop("default");
  // As often as a fetcher puts off one job of a loader that has another token.
  expect((await organizations.open("default")).client).toBe(first.client);
  organizations.drop("default");
  token = "second.token.signature";
  const second = await organizations.open("default");
  expect(second.client).not.toBe(first.client);
  expect(second.key).not.toBe(first.key);
});
