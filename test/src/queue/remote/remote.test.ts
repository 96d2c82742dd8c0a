// Loader and fetchers over a real Redis: what is fetched elsewhere is mirrored as if it had been fetched here.
import { expect, test } from "vitest";
import { anOrg, aRedis } from "../worker-rig.ts";
import { aFetcher, load } from "./remote-rig.ts";

/** Requests of a service that cost a credit. */
const paid = (org: Awaited<ReturnType<typeof anOrg>>) => org.service.log.filter(({ status }) => status === 200);

test("what two fetchers fetch is mirrored, and no page is asked for twice", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 12);
  const config = org.config(redis);
  await aFetcher(redis, [config]);
  await aFetcher(redis, [config]);
  const started = Date.now();
  const { report, error } = await load(redis, config).result;
  console.log(Date.now() - started, report.requests);
  expect(error).toBeNull();
  expect(report.status).toBe("done");
  expect(report.credits.spent).toBe(paid(org).length);
  expect((await org.rows("SELECT count(*) FROM accounts"))[0]).toEqual([12]);
  const urls = paid(org).map(({ path, query }) => `${path}?${new URLSearchParams(query)}`);
  expect(urls.length).toBe(new Set(urls).size);
});
