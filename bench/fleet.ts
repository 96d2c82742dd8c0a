// Case fleet: a fleet whose mirrors move (docs/SCALE.md). Five workers with a disk of their own each, one Redis, one bucket. Each round,
// an hour in fast motion, asks for a sync of every organization, and kills two workers, one of them with its disk. A sixth worker
// joins for the second round, and one of the five leaves for the fourth.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { systemClock } from "../src/core/clock.ts";
import { mirrorHome, readLocalNote } from "../src/deliver/home/mirror-home.ts";
import { openDatabase } from "../src/warehouse/duckdb/database.ts";
import { enterDataDir } from "../src/warehouse/file/working-file.ts";
import { startBucket } from "./bucket-server.ts";
import { atMost, type BenchCase, type Figure, median } from "./case.ts";
import { askAll, openOrganizations, pass, ROWS, taken, type Worker } from "./many-organizations.ts";
import { options } from "./options.ts";

const COUNT = options.size ?? 25;
const ROUND_MS = options.round * 1000;
const WORKERS = 5;
const ROUNDS = 5;
const AWS = {
  AWS_ACCESS_KEY_ID: "bench",
  AWS_SECRET_ACCESS_KEY: "bench",
  AWS_EC2_METADATA_DISABLED: "true",
  AWS_CONFIG_FILE: "/dev/null",
  AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
};

/** One end of a sync, as a worker said it. */
interface End {
  readonly syncId: string;
  readonly status: string;
  readonly slot: number;
  readonly at: number;
}
type Bucket = Awaited<ReturnType<typeof startBucket>>;
type World = Awaited<ReturnType<typeof openOrganizations>>;

const homeIn = ({ endpoint }: Bucket, name: string) =>
  `s3://bench/mirrors/${name}?region=us-east-1&path_style=true&endpoint=${encodeURIComponent(endpoint)}`;

/** The workers by slot, and the ends of syncs that they have said. */
const createFleet = (world: World) => {
  const slots: (Worker | null)[] = [];
  const ends: End[] = [];
  let cpuOfGone = 0;
  const start = async (slot: number): Promise<void> => {
    slots[slot] = await world.startWorker(`disk-${slot}`, (line) => {
      const [, syncId = "", status = ""] = /sync (\S+) of p\d+: (\w+)/.exec(line) ?? [];
      if (syncId !== "") ends.push({ syncId, status, slot, at: Date.now() });
    });
  };
  const end = async (slot: number, signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
    const child = slots[slot]?.child;
    if (child === undefined) return;
    slots[slot] = null;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    cpuOfGone += taken(child.pid ?? 0).cpuSeconds;
    child.kill(signal);
    await gone;
  };
  return {
    ends,
    start,
    /** Ends in order, as a fleet that gets smaller. */
    leave: (slot: number) => end(slot, "SIGTERM"),
    kill: async (slot: number, withDisk: boolean): Promise<void> => {
      await end(slot, "SIGKILL");
      if (withDisk) rmSync(join(world.dir, `disk-${slot}`), { recursive: true, force: true });
      await start(slot);
    },
    living: (): readonly number[] => slots.flatMap((worker, slot) => (worker === null ? [] : [slot])),
    ask: () => {
      const worker = slots.find((one) => one !== null);
      if (worker === undefined || worker === null) throw new Error("no worker is left");
      return askAll(worker);
    },
    cpuSeconds: () =>
      slots.reduce((sum, worker) => sum + (worker === null ? 0 : taken(worker.child.pid ?? 0).cpuSeconds), cpuOfGone),
  };
};
type Fleet = ReturnType<typeof createFleet>;

const countRow = z.object({ accounts: z.number(), signals: z.number() });

/** Organizations whose home holds other rows than their service, and how often all mirrors moved. */
const homesOf = async ({ dir, names }: World, bucket: Bucket) => {
  const wrong: string[] = [];
  let moves = 0;
  const azure = { account: null, connectionString: null, key: null, sasToken: null };
  for (const name of names) {
    const dataDir = join(dir, "proof", name);
    const lock = await enterDataDir(dataDir);
    await mirrorHome({ url: homeIn(bucket, name), dataDir, azure, clock: systemClock })
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
    if (row?.accounts !== ROWS || row.signals !== ROWS) wrong.push(name);
    rmSync(dataDir, { recursive: true, force: true });
  }
  return { wrong: wrong.length, moves };
};

/** The largest difference of a worker's share from an even one, by the time for which it lived; percent. */
const unevenness = (ends: readonly End[], lived: readonly number[]): number => {
  const all = lived.reduce((sum, rounds) => sum + rounds, 0);
  const shares = lived.map((rounds, slot) => {
    const even = (ends.length * rounds) / all;
    return Math.abs(ends.filter((end) => end.slot === slot).length - even) / even;
  });
  return 100 * Math.max(...shares);
};

/** Rounds with kills, a worker that joins and one that leaves. Returns for how many rounds each worker lived. */
const playRounds = async (fleet: Fleet, ask: () => Promise<void>): Promise<readonly number[]> => {
  const lived: number[] = Array.from({ length: WORKERS + 1 }, () => 0);
  for (let round = 0; round < ROUNDS; round += 1) {
    const endsAt = Date.now() + ROUND_MS;
    if (round === 1) await fleet.start(WORKERS);
    if (round === 3) await fleet.leave(0);
    if (round === 4) await fleet.start(0);
    for (const slot of fleet.living()) lived[slot] = (lived[slot] ?? 0) + 1;
    await ask();
    const living = fleet.living();
    for (const nth of [0, 1]) {
      await pass(ROUND_MS / 4);
      await fleet.kill(living[(2 * round + nth) % living.length] ?? 1, nth === 0);
    }
    await pass(Math.max(0, endsAt - Date.now()));
  }
  return lived;
};

const measure = async (world: World, bucket: Bucket): Promise<readonly Figure[]> => {
  const fleet = createFleet(world);
  for (let slot = 0; slot < WORKERS; slot += 1) await fleet.start(slot);
  const asked = new Map<string, number>();
  const ask = async (): Promise<void> => {
    const now = Date.now();
    for (const id of (await fleet.ask()).values()) if (!asked.has(id)) asked.set(id, now);
  };
  const isDone = (id: string) => fleet.ends.some(({ syncId, status }) => syncId === id && status === "done");
  const settled = async (limitMs: number): Promise<void> => {
    const until = Date.now() + limitMs;
    while (![...asked.keys()].every(isDone) && Date.now() < until) await pass(500);
  };
  const startedAt = Date.now();
  await ask();
  await settled(1_800_000);
  const firstSeconds = (Date.now() - startedAt) / 1000;
  const firstEnds = fleet.ends.length;
  const paid = () => world.names.reduce((sum, _, index) => sum + world.served(index).length, 0);
  const firstPaid = paid();
  const lived = await playRounds(fleet, ask);
  await settled(4 * ROUND_MS);
  const later = fleet.ends.slice(firstEnds);
  const endOf = (id: string) => fleet.ends.find(({ syncId, status }) => syncId === id && status === "done")?.at;
  const waits = [...asked].slice(COUNT).map(([id, at]) => ((endOf(id) ?? Date.now()) - at) / 1000);
  const ids = fleet.ends.map(({ syncId }) => syncId);
  const lost = [...asked.keys()].filter((id) => !isDone(id)).length;
  const perSync = fleet.cpuSeconds() / fleet.ends.length;
  const homes = await homesOf(world, bucket);
  const said = (measureOf: string, value: string): Figure => ({ measure: measureOf, value, aim: "", reached: null });
  const of = (method: string) => ((bucket.requests.get(method) ?? 0) / fleet.ends.length).toFixed(1);
  return [
    atMost("syncs that were asked for and did not end", lost, 0, "", 0),
    atMost("syncs that ended twice", ids.length - new Set(ids).size, 0, "", 0),
    atMost("homes with other rows than the service", homes.wrong, 0, "", 0),
    atMost("longest wait of an organization, in turns", Math.max(...waits) / (ROUND_MS / 1000), 2, ""),
    atMost(
      "largest difference of a worker's share of the syncs from an even one",
      unevenness(later, lived),
      10,
      "%",
      0,
    ),
    said("median wait; a turn", `${median(waits).toFixed(0)} s; ${ROUND_MS / 1000} s`),
    said("syncs after the first ones; kills", `${later.length}; ${2 * ROUNDS}`),
    said("first syncs a minute", ((60 * COUNT) / firstSeconds).toFixed(0)),
    said("CPU of the workers for a sync, with what kills threw away", `${perSync.toFixed(2)} s`),
    said(
      "credits of a first sync; of a later one, of which 2 is the least",
      `${(firstPaid / COUNT).toFixed(2)}; ${((paid() - firstPaid) / (asked.size - COUNT)).toFixed(2)}`,
    ),
    said("moves to another worker", `${homes.moves} in ${fleet.ends.length} syncs`),
    said("requests of the bucket for a sync: reads, writes", `${of("GET")}, ${of("PUT")}`),
  ];
};

export const fleet: BenchCase = {
  id: "fleet",
  title: `Fleet of ${WORKERS} workers whose mirrors move, ${COUNT} organizations, ${ROUNDS} rounds of ${ROUND_MS / 1000} s with two kills each`,
  // It needs Redis, and all of the machine for minutes.
  onlyNamed: true,
  run: async () => {
    Object.assign(process.env, AWS);
    const bucket = await startBucket();
    const world = await openOrganizations({
      count: COUNT,
      maxSyncs: 2,
      more: (name) => `, home: "${homeIn(bucket, name)}"`,
    });
    try {
      return await measure(world, bucket);
    } finally {
      await world.close();
      await bucket.close();
    }
  },
};
