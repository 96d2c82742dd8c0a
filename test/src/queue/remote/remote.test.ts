// Loader and fetchers over a real Redis: what is fetched elsewhere is mirrored as if it had been fetched here.
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { expect, test, vi } from "vitest";
import { mirrorIdOf } from "../../../../src/queue/remote/loader/mirror-id.ts";
import { openMailbox } from "../../../../src/queue/remote/mailbox.ts";
import { openAnswer, sealAnswer } from "../../../../src/queue/remote/sealed-answers.ts";
import { readArchive, readIntents } from "../../../../src/warehouse/archive/read-archive.ts";
import { afterTest } from "../../../support/after-test.ts";
import { anOrg, aRedis, type Organization } from "../worker-rig.ts";
import { aFetcher, aLoader, announced, aParcel, load, sealsOf } from "./remote-rig.ts";

const urlsOf = (org: Organization) =>
  org.service.log
    .filter(({ status }) => status === 200)
    .map(({ path, query }) => `${path}?${new URLSearchParams(query)}`);

/** Resolves when the service has had so many requests. */
const requests = (org: Organization, count: number) =>
  vi.waitFor(() => expect(org.service.log.length).toBeGreaterThanOrEqual(count), { timeout: 120_000, interval: 5 });

const aClient = (redis: { readonly url: string }): Redis => {
  const client = new Redis(redis.url, { maxRetriesPerRequest: null });
  afterTest(async () => client.disconnect());
  return client;
};

const never = () => new AbortController().signal;

test("what two fetchers fetch is mirrored, and no page is asked for twice", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 4);
  const config = org.config(redis);
  await aFetcher(redis, [config]);
  await aFetcher(redis, [config]);
  const { report, error } = await load(redis, config).result;
  expect(error).toBeNull();
  expect(report.status).toBe("done");
  const urls = urlsOf(org);
  expect(report.credits.spent).toBe(urls.length);
  expect(urls.length).toBe(new Set(urls).size);
  expect(await org.rows("SELECT count(*) FROM accounts")).toEqual([[4]]);
  // Nothing is left behind but what names the queues.
  const keys = await aClient(redis).keys("{duckmirror}:mirror:*");
  expect(keys.filter((key) => !key.endsWith(":epoch"))).toEqual([]);
});

test("a fetcher that is stopped while it works loses nothing: another one goes on", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 4);
  const config = org.config(redis);
  const first = await aFetcher(redis, [config]);
  const loading = load(redis, config);
  await requests(org, 12);
  await aFetcher(redis, [config]);
  await first.close(5_000);
  const { report } = await loading.result;
  expect(report.status).toBe("done");
  const urls = urlsOf(org);
  expect(urls.length).toBe(new Set(urls).size);
  expect(report.credits.spent).toBe(urls.length);
});

test("Redis that loses its memory in the middle of a run costs at most what was in flight", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 4);
  const config = org.config(redis, { DUCKMIRROR_CONCURRENCY: "4" });
  await aFetcher(redis, [config]);
  const loading = load(redis, config);
  await requests(org, 12);
  await aClient(redis).flushall();
  const { report } = await loading.result;
  expect(report.status).toBe("done");
  const urls = urlsOf(org);
  expect(urls.length - new Set(urls).size).toBeLessThanOrEqual(4);
});

test("without a fetcher one request waits in the queue, not a burst of them", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 4);
  const config = org.config(redis);
  const loading = load(redis, config);
  const client = aClient(redis);
  await vi.waitFor(async () => expect(await client.llen("{duckmirror}:fetch:wait")).toBe(1), { timeout: 120_000 });
  // Chances enough for a second one to be sent: loader and test share the event loop and this Redis.
  for (let roundTrip = 0; roundTrip < 500; roundTrip++) await client.ping();
  expect(await client.llen("{duckmirror}:fetch:wait")).toBe(1);
  await aFetcher(redis, [config]);
  expect((await loading.result).report.status).toBe("done");
});

test("a run that is stopped takes back what no fetcher has taken, and ends at once", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 4);
  const config = org.config(redis);
  const loading = load(redis, config);
  const client = aClient(redis);
  await vi.waitFor(async () => expect(await client.llen("{duckmirror}:fetch:wait")).toBe(1), { timeout: 120_000 });
  loading.stop.abort();
  const { report } = await loading.result;
  expect(report).toMatchObject({ status: "interrupted", requests: 0, credits: { spent: 0 } });
  expect(await client.llen("{duckmirror}:fetch:wait")).toBe(0);
  expect(org.service.log).toEqual([]);
});

test("a request that left before Redis was emptied counts as one that may have cost a credit", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 4);
  const config = org.config(redis);
  const release = org.hold();
  await aFetcher(redis, [config]);
  const loader = await aLoader(redis, config);
  const client = aClient(redis);
  const departures = `{duckmirror}:mirror:${await mirrorIdOf(config.dataDir)}:departures`;
  const stop = new AbortController();
  await loader.sender.turn(stop.signal);
  const breakOff = new AbortController();
  const sending = loader.sender.send(aParcel("run-1-1", "run-1"), { signal: stop.signal, hardSignal: breakOff.signal });
  await vi.waitFor(async () => expect(await client.hget(departures, "run-1-1")).toBe("1"), { timeout: 30_000 });
  await client.flushall();
  // The run ends: what is still queued is taken back, and BullMQ says of a job it does not know that it was removed.
  stop.abort();
  breakOff.abort();
  expect(await sending).toMatchObject({ kind: "outcome", outcome: { kind: "broken", reached: "unknown" } });
  release();
});

test("nothing that a loader keeps in Redis stays for ever", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 4);
  const config = org.config(redis);
  const loader = await aLoader(redis, config);
  const client = aClient(redis);
  const kept = await client.keys("*:run:*");
  expect(kept).toHaveLength(1);
  for (const key of [...kept, ...(await client.keys("*:mirror:*"))]) expect(await client.pttl(key)).toBeGreaterThan(0);
  await loader.close();
  expect(await client.keys("*:run:*")).toEqual([]);
});

test("an answer that a loader died with is taken over by the next one, and not asked for again", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 4);
  const config = org.config(redis);
  await aFetcher(redis, [config]);
  const first = await aLoader(redis, config);
  const parcel = aParcel("run-1-1", "run-1");
  await announced(first.warehouse, parcel);
  await first.sender.turn(never());
  // It hears the answer and dies before it is durable.
  expect(await first.sender.send(parcel, { signal: never(), hardSignal: never() })).toMatchObject({
    kind: "outcome",
    outcome: { kind: "ok" },
  });
  await first.close();

  const second = await aLoader(redis, config);
  expect([...second.unsent]).toEqual([]);
  const archived = [];
  for await (const { header } of readArchive(second.warehouse.archiveDir, { runId: "run-1" })) archived.push(header);
  expect(archived).toMatchObject([{ requestId: "run-1-1", stream: "accounts", url: parcel.about.url, status: 200 }]);
  await second.close();
  // Once more, and it is not archived twice.
  const third = await aLoader(redis, config);
  expect(await aClient(redis).exists(`{duckmirror}:mirror:${await mirrorIdOf(config.dataDir)}:answers`)).toBe(0);
  await third.close();
  expect((await load(redis, config).result).report.status).toBe("done");
  expect(urlsOf(org).filter((url) => url.startsWith("/v1/accounts?")).length).toBe(2);
});

test("a request that no fetcher took is known never to have left", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 4);
  const config = org.config(redis);
  const first = await aLoader(redis, config);
  const parcel = aParcel("run-1-1", "run-1");
  await announced(first.warehouse, parcel);
  await first.sender.turn(never());
  const sending = first.sender.send(parcel, { signal: never(), hardSignal: never() });
  const client = aClient(redis);
  await vi.waitFor(async () => expect(await client.llen("{duckmirror}:fetch:wait")).toBe(1), { timeout: 120_000 });
  await first.close();
  expect(await sending).toEqual({ kind: "unsent" });
  const second = await aLoader(redis, config);
  expect([...second.unsent]).toEqual(["run-1-1"]);
  await aFetcher(redis, [config]);
  expect(await client.llen("{duckmirror}:fetch:wait")).toBe(0);
  expect(org.service.log).toEqual([]);
});

test("a fetcher spends nothing for a loader that another one has replaced", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 4);
  const config = org.config(redis);
  const first = await aLoader(redis, config);
  await first.sender.turn(never());
  const sending = first.sender.send(aParcel("run-1-1", "run-1"), { signal: never(), hardSignal: never() });
  const client = aClient(redis);
  await vi.waitFor(async () => expect(await client.llen("{duckmirror}:fetch:wait")).toBe(1), { timeout: 120_000 });
  await client.set(`{duckmirror}:mirror:${await mirrorIdOf(config.dataDir)}:epoch`, "another loader");
  await aFetcher(redis, [config]);
  expect(await sending).toMatchObject({ kind: "denied", error: { code: "FENCED" } });
  expect(org.service.log).toEqual([]);
});

/** A loader with a request that a fetcher took before it died, and another fetcher. */
const aLostAttempt = async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 4);
  const config = org.config(redis);
  const loader = await aLoader(redis, config);
  const parcel = aParcel("run-1-1", "run-1");
  await announced(loader.warehouse, parcel);
  const client = aClient(redis);
  const mirror = await mirrorIdOf(config.dataDir);
  const key = `{duckmirror}:mirror:${mirror}`;
  await client.hset(`${key}:departures`, parcel.requestId, 1);
  await loader.sender.turn(never());
  await aFetcher(redis, [config]);
  return { redis, config, loader, parcel, client, mirror, key };
};

test("an attempt of a fetcher that died counts, and its answer, should it come after all, is only accounted for", async () => {
  const { config, loader, parcel, client, mirror, key } = await aLostAttempt();
  const sending = loader.sender.send(parcel, { signal: never(), hardSignal: never() });
  const { seals } = sealsOf(config);
  const mailbox = openMailbox(client, mirror);
  const answer = await vi.waitFor(
    async () => {
      const opened = await openAnswer({ mailbox, seals, mirror }, "run-1-1.2");
      if (opened.kind !== "answer") throw new Error("no answer yet");
      return opened.packed;
    },
    { timeout: 120_000 },
  );
  const sent = await sending;
  expect(sent).toMatchObject({ kind: "outcome", lostAttempts: 1, outcome: { kind: "ok" } });
  if (sent.kind === "outcome") sent.kept?.();
  // The one that was thought dead only stood still, and hands its answer in.
  const { note, body } = answer;
  await mailbox.put("run-1-1.1", sealAnswer(seals, mirror, "run-1-1.1", { note: { ...note, nth: 1 }, body }));
  const pages = new Queue(`pages-${mirror}`, { connection: client, prefix: "{duckmirror}" });
  await pages.add("page", { v: 1, delivery: "run-1-1.1" }, { jobId: "run-1-1.1" });
  await vi.waitFor(async () => expect([...(await loader.warehouse.requestsOf("run-1"))]).toEqual(["run-1-1.late1"]), {
    timeout: 120_000,
  });
  await pages.close();
  await vi.waitFor(async () => expect(await client.exists(`${key}:answers`)).toBe(0), { timeout: 120_000 });
});

test("an attempt of a fetcher that died counts also when its loader died before the answer came", async () => {
  const { redis, config, loader, parcel, client, key } = await aLostAttempt();
  // It never says that it has kept the answer, which therefore stays in the mailbox.
  expect(await loader.sender.send(parcel, { signal: never(), hardSignal: never() })).toMatchObject({ lostAttempts: 1 });
  await loader.close();
  expect(await client.hlen(`${key}:answers`)).toBe(1);
  const next = await aLoader(redis, config);
  expect([...(await next.warehouse.requestsOf("run-1"))]).toEqual(["run-1-1.lost1"]);
  expect(await client.exists(`${key}:answers`)).toBe(0);
});

test("attempts of two fetchers that died are noted once when their loader died, too: recovery books them", async () => {
  const { redis, config, loader, client, key } = await aLostAttempt();
  await loader.close();
  // What a killed loader leaves: it did not end its epoch in order.
  await client.hset(`${key}:departures`, "run-1-1", 2);
  const noted = async () => {
    const next = await aLoader(redis, config);
    const intents = await readIntents(next.warehouse.archiveDir, "run-1");
    await next.close();
    return intents.map(({ requestId }) => requestId);
  };
  expect(await noted()).toEqual(["run-1-1", "run-1-1.lost1"]);
  await client.hset(`${key}:departures`, "run-1-1", 2);
  expect(await noted()).toEqual(["run-1-1", "run-1-1.lost1"]);
});

test("organizations that do not answer hold up no other one", async () => {
  const redis = await aRedis();
  const dead = await Promise.all(["a", "b", "c"].map((name) => anOrg(name, 4)));
  for (const org of dead) org.hold();
  const alive = await anOrg("alive", 4);
  const configs = [...dead.map((org) => org.config(redis)), alive.config(redis)];
  await aFetcher(redis, configs, { slots: 3, times: { hanging: 100 } });
  const stuck = dead.map((org) => load(redis, org.config(redis)));
  await vi.waitFor(async () => expect(await aClient(redis).llen("{duckmirror}:fetch:active")).toBe(3), {
    timeout: 120_000,
  });
  expect((await load(redis, alive.config(redis)).result).report.status).toBe("done");
  for (const { stop, breakOff } of stuck) {
    stop.abort();
    breakOff.abort();
  }
  for (const { result } of stuck) await result;
});

test("a profile with another token than the loader's is refused in words, after others had the chance", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 2);
  const config = org.config(redis);
  await aFetcher(redis, [{ ...config, profile: "other" }], { times: { strange: 1_000 } });
  const { report, error } = await load(redis, config).result;
  expect(report.requests).toBe(0);
  expect(error).toMatchObject({ code: "PROFILE_UNKNOWN" });
});
