// Many organizations on one Redis and one worker (docs/SCALE.md): how fast they get their turn, what a large, a hanging
// and a broken one do to the others, and what it takes. Run: npm run build && node dist/bench/profiles.js [organizations]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { median } from "./case.ts";
import { type Character, startOrganizations } from "./organizations-service.ts";

const COUNT = Number(process.argv[2] ?? 500);
const MAX_SYNCS = Number(process.argv[3] ?? 8);
/** Organizations of a character of their own, by number. */
const CHARACTERS: Readonly<Record<number, Character>> = { 3: "large", 5: "hangs", 7: "broken" };
const CLI = fileURLToPath(new URL("../src/cli/main.js", import.meta.url));
const TICKS_PER_SECOND = 100;
/** Requests of an ordinary organization's first sync, and of one that finds nothing new: a look at each list. */
const FIRST_REQUESTS = 6;
const UNCHANGED_REQUESTS = 2;

const freePort = async (): Promise<number> => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new TypeError("no port");
  return address.port;
};

/** Seconds of CPU and MiB of memory that a process has taken. */
const taken = (pid: number) => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    peakMiB: Number(peak) / 1024,
  };
};

const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const dir = mkdtempSync(join(tmpdir(), "duckmirror-profiles-"));
const port = await freePort();
const redisServer = spawn("redis-server", ["--port", String(port), "--save", "", "--dir", dir], { stdio: "ignore" });
const tokenOf = (index: number) => `organization-${String(index).padStart(5, "0")}`;
const service = await startOrganizations({
  characterOf: (token) => CHARACTERS[Number(token.slice(-5))] ?? "well",
  rows: 250,
  perMinute: 300,
  latencyMs: 100,
});
const names = Array.from({ length: COUNT }, (_, index) => index);
writeFileSync(
  join(dir, "duckmirror.yaml"),
  [
    `base_url: ${service.url}`,
    "streams: [accounts, signals]",
    "rate_limit: pro",
    "schedule: off",
    "export_formats: none",
    "request_timeout: 20s",
    "headers_timeout: 20s",
    `max_syncs: ${MAX_SYNCS}`,
    `redis_url: redis://127.0.0.1:${port}`,
    `data_dir: ${join(dir, "mirrors")}`,
    "profiles:",
    ...names.map((index) => `  p${index}: { token: ${tokenOf(index)} }`),
  ].join("\n"),
);
const worker = spawn(process.execPath, [CLI, "worker", "--listen", "127.0.0.1:0", "--json", "--quiet"], {
  cwd: dir,
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  const [line] = await once(worker.stdout, "data");
  const { url } = JSON.parse(String(line));
  const ask = async (): Promise<number> => {
    const askedAt = Date.now();
    const answer = await fetch(`${url}/api/syncs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ all_profiles: true }),
    });
    if (answer.status !== 202) throw new Error(`${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
    return (Date.now() - askedAt) / 1000;
  };
  const startedAt = Date.now();
  process.stdout.write(`${COUNT} syncs asked for in ${(await ask()).toFixed(1)} s\n`);
  const redis = new Redis(port, "127.0.0.1");
  const ordinary = names.filter((index) => CHARACTERS[index] === undefined);
  let redisPeak = 0;
  /** Until each ordinary organization was asked `requests` times in all. */
  const served = async (requests: number) => {
    while (!ordinary.every((index) => service.served(tokenOf(index)).length >= requests)) {
      await pass(1000);
      const used = /used_memory:(\d+)/.exec(await redis.info("memory"))?.[1];
      redisPeak = Math.max(redisPeak, Number(used));
      if (worker.exitCode !== null) throw new Error("the worker ended");
    }
  };
  await served(FIRST_REQUESTS);
  const seconds = (Date.now() - startedAt) / 1000;
  const durations = ordinary.map((index) => {
    const times = service.served(tokenOf(index));
    return ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000;
  });
  const { cpuSeconds, peakMiB } = taken(worker.pid ?? 0);
  const ofRedis = taken(redisServer.pid ?? 0);
  const commands = Number(/total_commands_processed:(\d+)/.exec(await redis.info("stats"))?.[1]);
  const figures = {
    organizations: COUNT,
    maxSyncs: MAX_SYNCS,
    seconds,
    syncsPerMinute: (60 * ordinary.length) / seconds,
    syncSeconds: { median: median(durations), most: Math.max(...durations) },
    largePages: service.served(tokenOf(3)).length,
    refusals: service.refusals(),
    worker: { cpuSeconds, cpuPerSync: cpuSeconds / ordinary.length, peakMiB },
    redis: { ...ofRedis, usedMiB: redisPeak / 2 ** 20, commandsPerSync: commands / COUNT },
  };
  process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
  const again = Date.now();
  const asking = await ask();
  await served(FIRST_REQUESTS + UNCHANGED_REQUESTS);
  const unchangedSeconds = (Date.now() - again) / 1000;
  const unchanged = {
    askingSeconds: asking,
    syncsPerMinute: (60 * ordinary.length) / unchangedSeconds,
    cpuPerSync: (taken(worker.pid ?? 0).cpuSeconds - cpuSeconds) / ordinary.length,
    peakMiB: taken(worker.pid ?? 0).peakMiB,
  };
  process.stdout.write(`${JSON.stringify({ unchanged }, null, 2)}\n`);
  redis.disconnect();
} finally {
  worker.kill("SIGKILL");
  redisServer.kill("SIGKILL");
  await service.close();
  rmSync(dir, { recursive: true, force: true });
}
