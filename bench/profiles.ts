// Many organizations on one Redis and one worker (docs/SCALE.md): how fast they get their turn, what a large, a hanging
// and a broken one do to the others, and what it takes. Run: npm run build && node dist/bench/profiles.js [organizations]
import { Redis } from "ioredis";
import { median } from "./case.ts";
import { askAll, openOrganizations, pass, taken } from "./many-organizations.ts";
import type { Character } from "./organizations-service.ts";

const COUNT = Number(process.argv[2] ?? 500);
const MAX_SYNCS = Number(process.argv[3] ?? 8);
/** Organizations of a character of their own, by number. */
const CHARACTERS: Readonly<Record<number, Character>> = { 3: "large", 5: "hangs", 7: "broken" };
/** Requests of an ordinary organization's first sync, and of one that finds nothing new: a look at each list. */
const FIRST_REQUESTS = 6;
const UNCHANGED_REQUESTS = 2;

const world = await openOrganizations({
  count: COUNT,
  maxSyncs: MAX_SYNCS,
  character: (index) => CHARACTERS[index] ?? "well",
});
try {
  const worker = await world.startWorker("mirrors", () => undefined);
  const ask = async (): Promise<number> => {
    const askedAt = Date.now();
    await askAll(worker);
    return (Date.now() - askedAt) / 1000;
  };
  const startedAt = Date.now();
  process.stdout.write(`${COUNT} syncs asked for in ${(await ask()).toFixed(1)} s\n`);
  const redis = new Redis(world.redisUrl);
  const ordinary = world.names.map((_, index) => index).filter((index) => CHARACTERS[index] === undefined);
  let redisPeak = 0;
  /** Until each ordinary organization was asked `requests` times in all. */
  const served = async (requests: number) => {
    while (!ordinary.every((index) => world.served(index).length >= requests)) {
      await pass(1000);
      const used = /used_memory:(\d+)/.exec(await redis.info("memory"))?.[1];
      redisPeak = Math.max(redisPeak, Number(used));
      if (worker.child.exitCode !== null) throw new Error("the worker ended");
    }
  };
  await served(FIRST_REQUESTS);
  const seconds = (Date.now() - startedAt) / 1000;
  const durations = ordinary.map((index) => {
    const times = world.served(index);
    return ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000;
  });
  const { cpuSeconds, peakMiB } = taken(worker.child.pid ?? 0);
  const commands = Number(/total_commands_processed:(\d+)/.exec(await redis.info("stats"))?.[1]);
  const figures = {
    organizations: COUNT,
    maxSyncs: MAX_SYNCS,
    seconds,
    syncsPerMinute: (60 * ordinary.length) / seconds,
    syncSeconds: { median: median(durations), most: Math.max(...durations) },
    largePages: world.served(3).length,
    refusals: world.service.refusals(),
    worker: { cpuSeconds, cpuPerSync: cpuSeconds / ordinary.length, peakMiB },
    redis: { ...taken(world.redisPid), usedMiB: redisPeak / 2 ** 20, commandsPerSync: commands / COUNT },
  };
  process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
  const again = Date.now();
  const asking = await ask();
  await served(FIRST_REQUESTS + UNCHANGED_REQUESTS);
  const unchangedSeconds = (Date.now() - again) / 1000;
  const unchanged = {
    askingSeconds: asking,
    syncsPerMinute: (60 * ordinary.length) / unchangedSeconds,
    cpuPerSync: (taken(worker.child.pid ?? 0).cpuSeconds - cpuSeconds) / ordinary.length,
    peakMiB: taken(worker.child.pid ?? 0).peakMiB,
  };
  process.stdout.write(`${JSON.stringify({ unchanged }, null, 2)}\n`);
  redis.disconnect();
} finally {
  await world.close();
}
