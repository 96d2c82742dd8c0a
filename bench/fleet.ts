// A fleet whose mirrors move (docs/SCALE.md): five workers with a disk of their own each, one Redis, one bucket. Every round asks for a
// sync of each organization; two workers are killed in each, and one of them comes back without its disk.
// Run: npm run build && node dist/bench/fleet.js [organizations] [rounds] [seconds of a round]
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { systemClock } from "../src/core/clock.ts";
import { mirrorHome, readLocalNote } from "../src/deliver/home/mirror-home.ts";
import { openDatabase } from "../src/warehouse/duckdb/database.ts";
import { enterDataDir } from "../src/warehouse/file/working-file.ts";
import { startBucket } from "./bucket-server.ts";
import { median } from "./case.ts";
import { startOrganizations } from "./organizations-service.ts";

const COUNT = Number(process.argv[2] ?? 40);
const ROUNDS = Number(process.argv[3] ?? 4);
const ROUND_MS = Number(process.argv[4] ?? 60) * 1000;
const WORKERS = 5;
const ROWS = 250;
const AWS = {
  AWS_ACCESS_KEY_ID: "bench",
  AWS_SECRET_ACCESS_KEY: "bench",
  AWS_EC2_METADATA_DISABLED: "true",
  AWS_CONFIG_FILE: "/dev/null",
  AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
};
Object.assign(process.env, AWS);
const CLI = fileURLToPath(new URL("../src/cli/main.js", import.meta.url));
const TICKS_PER_SECOND = 100;

const freePort = async (): Promise<number> => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new TypeError("no port");
  return address.port;
};
const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const dir = mkdtempSync(join(tmpdir(), "duckmirror-fleet-"));
const port = await freePort();
const redis = spawn("redis-server", ["--port", String(port), "--save", "", "--dir", dir], { stdio: "ignore" });
const tokenOf = (index: number) => `organization-${String(index).padStart(5, "0")}`;
const service = await startOrganizations({ characterOf: () => "well", rows: ROWS, perMinute: 300, latencyMs: 100 });
const bucket = await startBucket();
const names = Array.from({ length: COUNT }, (_, index) => `p${index}`);
const homeOf = (name: string) =>
  `s3://bench/mirrors/${name}?region=us-east-1&path_style=true&endpoint=${encodeURIComponent(bucket.endpoint)}`;

/** One end of a sync, as a worker said it. */
interface End {
  readonly syncId: string;
  readonly profile: string;
  readonly status: string;
  readonly slot: number;
  readonly at: number;
}
const ends: End[] = [];
const cpuOf = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
};

interface Slot {
  readonly child: ChildProcess;
  readonly url: string;
}
const slots: Slot[] = [];
let cpuOfDead = 0;
let kills = 0;

const configure = (slot: number): string => {
  const own = join(dir, `worker-${slot}.yaml`);
  const lines = [
    `base_url: ${service.url}`,
    "streams: [accounts, signals]",
    "rate_limit: pro",
    "schedule: off",
    "export_formats: none",
    "max_syncs: 2",
    `redis_url: redis://127.0.0.1:${port}`,
    `data_dir: ${join(dir, `disk-${slot}`)}`,
    "profiles:",
    ...names.map((name, index) => `  ${name}: { token: ${tokenOf(index)}, home: "${homeOf(name)}" }`),
  ];
  writeFileSync(own, lines.join("\n"));
  return own;
};
const startWorker = async (slot: number): Promise<Slot> => {
  const argv = [CLI, "worker", "--config", configure(slot), "--listen", "127.0.0.1:0", "--json"];
  const child = spawn(process.execPath, argv, { cwd: dir, stdio: ["ignore", "pipe", "pipe"] });
  createInterface({ input: child.stderr }).on("line", (line) => {
    const [, syncId = "", profile = "", status = ""] = /sync (\S+) of (p\d+): (\w+)/.exec(line) ?? [];
    if (syncId !== "") ends.push({ syncId, profile, status, slot, at: Date.now() });
  });
  const [line] = await once(child.stdout, "data");
  return { child, url: z.object({ url: z.string() }).parse(JSON.parse(String(line))).url };
};
const killWorker = async (slot: number, withDisk: boolean): Promise<void> => {
  const { child } = slots[slot] ?? {};
  if (child?.pid === undefined) return;
  cpuOfDead += cpuOf(child.pid);
  kills += 1;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
  if (withDisk) rmSync(join(dir, `disk-${slot}`), { recursive: true, force: true });
  slots[slot] = await startWorker(slot);
};

const startedSchema = z.object({ syncs: z.array(z.object({ profile: z.string(), run_id: z.string() })) });
/** Asks for a sync of each organization; ids by profile. */
const ask = async (slot: number): Promise<ReadonlyMap<string, string>> => {
  const answer = await fetch(`${slots[slot]?.url}/api/syncs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ all_profiles: true }),
  });
  if (answer.status !== 202) throw new Error(`${answer.status} ${await answer.text()}`);
  return new Map(startedSchema.parse(await answer.json()).syncs.map(({ profile, run_id }) => [profile, run_id]));
};

const countRow = z.object({ accounts: z.number(), signals: z.number() });
let moves = 0;
/** Organizations whose home holds other rows than their service; counts how often their mirrors moved. */
const wrongHomes = async (): Promise<readonly string[]> => {
  const wrong: string[] = [];
  const azure = { account: null, connectionString: null, key: null, sasToken: null };
  for (const name of names) {
    const dataDir = join(dir, "proof", name);
    const lock = await enterDataDir(dataDir);
    await mirrorHome({ url: homeOf(name), dataDir, azure, clock: systemClock })
      .follow()
      .finally(() => lock.release());
    moves += ((await readLocalNote(dataDir))?.fence ?? 1) - 1;
    const database = await openDatabase(join(dataDir, "state/working.duckdb"), { readOnly: true, threads: 1 });
    const [row] = await database.query(
      "SELECT (SELECT count(*) FROM main.accounts) AS accounts, (SELECT count(*) FROM main.signals) AS signals",
      [],
      countRow,
    );
    await database.close();
    if (row?.accounts !== ROWS || row.signals !== ROWS) wrong.push(`${name}: ${JSON.stringify(row)}`);
  }
  return wrong;
};

try {
  for (let slot = 0; slot < WORKERS; slot += 1) slots[slot] = await startWorker(slot);
  const startedAt = Date.now();
  const asked = new Map<string, number>();
  const isDone = (id: string) => ends.some(({ syncId, status }) => syncId === id && status === "done");
  const settled = async (limitMs: number): Promise<void> => {
    const until = Date.now() + limitMs;
    while (![...asked.keys()].every(isDone) && Date.now() < until) await pass(500);
  };
  const askAll = async (slot: number): Promise<void> => {
    const now = Date.now();
    for (const id of (await ask(slot)).values()) if (!asked.has(id)) asked.set(id, now);
  };
  await askAll(0);
  await settled(600_000);
  const firstSeconds = (Date.now() - startedAt) / 1000;
  const firstBytes = bucket.written();
  const firstEnds = ends.length;
  const paidFor = () => names.reduce((sum, _, index) => sum + service.served(tokenOf(index)).length, 0);
  const firstPaid = paidFor();
  const roundsAt = Date.now();
  for (let round = 0; round < ROUNDS; round += 1) {
    const endsAt = Date.now() + ROUND_MS;
    await askAll(round % WORKERS);
    await pass(ROUND_MS / 4);
    await killWorker((2 * round) % WORKERS, true);
    await pass(ROUND_MS / 4);
    await killWorker((2 * round + 1) % WORKERS, false);
    await pass(Math.max(0, endsAt - Date.now()));
  }
  await settled(4 * ROUND_MS);
  const roundSeconds = (Date.now() - roundsAt) / 1000;
  const later = ends.slice(firstEnds);
  const waits = [...asked].map(
    ([id, at]) => ((ends.find((end) => end.syncId === id && end.status === "done")?.at ?? Number.NaN) - at) / 1000,
  );
  const perSlot = slots.map((_, slot) => later.filter((end) => end.slot === slot).length);
  const ids = ends.map(({ syncId }) => syncId);
  const cpu = cpuOfDead + slots.reduce((sum, { child }) => sum + cpuOf(child.pid ?? 0), 0);
  const figures = {
    organizations: COUNT,
    workers: WORKERS,
    kills,
    first: { seconds: firstSeconds, megabytesHome: firstBytes / 1e6 },
    rounds: {
      rounds: ROUNDS,
      seconds: roundSeconds,
      syncsAMinute: (60 * later.length) / roundSeconds,
      waitSeconds: { median: median(waits.slice(COUNT)), most: Math.max(...waits.slice(COUNT)) },
      syncsPerWorker: perSlot,
      megabytesHome: (bucket.written() - firstBytes) / 1e6,
    },
    asked: asked.size,
    lost: [...asked.keys()].filter((id) => !isDone(id)).length,
    doubled: ids.length - new Set(ids).size,
    notDone: ends.filter(({ status }) => status !== "done").length,
    wrongHomes: await wrongHomes(),
    moves,
    credits: { first: firstPaid / COUNT, later: (paidFor() - firstPaid) / (asked.size - COUNT) },
    cpuSecondsPerSync: cpu / ends.length,
    bucket: { requests: Object.fromEntries(bucket.requests), megabytesHeld: bucket.held() / 1e6 },
    refusals: service.refusals(),
  };
  process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
} finally {
  for (const { child } of slots) child.kill("SIGKILL");
  redis.kill("SIGKILL");
  await service.close();
  await bucket.close();
  rmSync(dir, { recursive: true, force: true });
}
