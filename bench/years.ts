// Case years: hourly syncs of a changing organization in simulated time. What a sync costs, what the disk holds and what
// a replay takes must not grow with the number of syncs. `--size 5000`: how many syncs.
import { fork } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { replayJob } from "../jobs/replay.ts";
import { syncJob } from "../jobs/sync.ts";
import { vocabulary } from "../src/catalog/field-rules.ts";
import type { Clock } from "../src/core/clock.ts";
import { resolveConfig } from "../src/core/config/config.ts";
import { Secret } from "../src/core/secret.ts";
import { copyContents } from "../src/warehouse/file/publish/rewrite-file.ts";
import { readDiskUsage } from "../src/warehouse/read/disk-usage.ts";
import { atMost, type BenchCase, type Figure } from "./case.ts";
import { options } from "./options.ts";

const HOUR_MS = 3_600_000;
const { size: SIZE = 500 } = options;
/** Syncs after which everything is measured, and the share of rows that change before every second sync. */
const STAGES = [10, 100, 500, 1000, 2500, 5000].filter((syncs) => syncs <= SIZE);
const CHANGED = 0.0045;
const ROWS = { accounts: 300, signals: 6_000 };
/** Days that archive and history are kept, instead of 90 and for ever, so that a short run reaches them. */
const KEPT_DAYS = "10";
const MB = 1024 * 1024;

interface Stage {
  readonly syncs: number;
  /** Per sync, over the last ten: seconds of processor time, bytes written. */
  readonly cpu: number;
  readonly written: number;
  readonly rss: number;
  readonly disk: ReturnType<typeof readDiskUsage>;
  readonly replaySeconds: number;
  /** Size of the working file, of that of a new copy of its contents. */
  readonly ofFresh: number;
}

const written = async (): Promise<number> =>
  Number(/^wchar: (\d+)/m.exec(await readFile("/proc/self/io", "utf8"))?.[1] ?? 0);
const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

const simulated = (): Clock & { pass(ms: number): void } => {
  let now = Date.now();
  const pass = (ms: number) => {
    now += Math.max(0, ms);
  };
  return {
    now: () => now,
    pass,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      pass(ms);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
};

/** Gives the newest files of the journal the simulated time: the age of the others is in their names. */
const dateJournal = async (archive: string, dated: Set<string>, now: number): Promise<void> => {
  for (const name of await readdir(archive, { recursive: true })) {
    if (!name.endsWith(".journal.ndjson") || dated.has(name)) continue;
    await utimes(join(archive, name), now / 1000, now / 1000);
    dated.add(name);
  }
};

const measure = async (syncs: number, run: (syncs: number) => Promise<Stage>): Promise<Stage> => {
  const stage = await run(syncs);
  process.stderr.write(`${JSON.stringify(stage)}\n`);
  return stage;
};

/** The service, in a process of its own. */
const startService = async (now: number) => {
  const script = fileURLToPath(new URL("./changing-service-process.js", import.meta.url));
  const child = fork(script, [String(ROWS.accounts), String(ROWS.signals), String(now)]);
  const [started] = await once(child, "message");
  const { url } = z.object({ url: z.string() }).parse(started);
  const change = async (share: number, at: number): Promise<void> => {
    const changed = once(child, "message");
    child.send({ share, now: at });
    await changed;
  };
  return { url, change, close: () => child.disconnect() };
};

const stages = async (): Promise<readonly Stage[]> => {
  const clock = simulated();
  const service = await startService(clock.now());
  const dataDir = await mkdtemp(join(tmpdir(), "duckmirror-years-"));
  const configOf = (dir: string) =>
    resolveConfig({
      flags: {},
      env: {
        DUCKMIRROR_BASE_URL: service.url,
        DUCKMIRROR_TOKEN: "bench-token",
        DUCKMIRROR_DATA_DIR: dir,
        DUCKMIRROR_RATE_LIMIT: "1000000",
        DUCKMIRROR_STREAMS: "accounts,signals",
        DUCKMIRROR_ARCHIVE_RETENTION_DAYS: KEPT_DAYS,
        DUCKMIRROR_HISTORY_RETENTION_DAYS: KEPT_DAYS,
        DUCKMIRROR_PUBLISH_UNCHANGED_BELOW: "0B",
      },
      file: null,
      cwd: dir,
      vocabulary: vocabulary(),
    });
  const config = configOf(dataDir);
  const never = new AbortController().signal;
  const emit = () => undefined;
  const sync = async () => {
    const request = {};
    const token = new Secret("bench-token");
    const context = { clock, random: Math.random, emit, signal: never, hardSignal: never, version: "bench", token };
    const { error } = await syncJob(config, request, context);
    if (error !== null) throw error;
  };
  const copied = async (): Promise<{ readonly replaySeconds: number; readonly ofFresh: number }> => {
    const copy = await mkdtemp(join(tmpdir(), "duckmirror-years-copy-"));
    try {
      await cp(dataDir, copy, { recursive: true });
      const before = cpuSeconds();
      await replayJob(configOf(copy), { partial: false }, { clock, emit });
      const replaySeconds = cpuSeconds() - before;
      const [old, fresh] = [join(dataDir, "warehouse.duckdb"), join(copy, "fresh.duckdb")];
      await copyContents(old, fresh, { tempDir: join(copy, "tmp"), memory: config.memory });
      const working = await stat(join(dataDir, "state", "working.duckdb"));
      return { replaySeconds, ofFresh: working.size / (await stat(fresh)).size };
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  };
  let done = 0;
  const dated = new Set<string>();
  const next = async () => {
    clock.pass(HOUR_MS);
    if (done % 2 === 1) await service.change(CHANGED, clock.now());
    await sync();
    await dateJournal(join(dataDir, "state", "archive"), dated, clock.now());
    done += 1;
  };
  const run = async (syncs: number): Promise<Stage> => {
    while (done < syncs - 10) await next();
    const [cpu, bytes] = [cpuSeconds(), await written()];
    while (done < syncs) await next();
    const spent = { cpu: (cpuSeconds() - cpu) / 10, written: ((await written()) - bytes) / 10 };
    const disk = readDiskUsage(dataDir, clock.now());
    return { syncs, ...spent, rss: process.memoryUsage.rss(), disk, ...(await copied()) };
  };
  try {
    const found: Stage[] = [];
    for (const syncs of STAGES) found.push(await measure(syncs, run));
    return found;
  } finally {
    service.close();
    await rm(dataDir, { recursive: true, force: true });
  }
};

const line = (stage: Stage): Figure => {
  const { bytes, total } = stage.disk;
  const size = (value: number) => `${(value / MB).toFixed(1)} MiB`;
  const archive = bytes.responses + bytes.journal + bytes.intents;
  const value = [
    `${stage.cpu.toFixed(2)} s CPU and ${size(stage.written)} written a sync`,
    `${size(stage.rss)} memory`,
    `disk ${size(total)} (snapshot ${size(bytes.snapshot)}, archive ${size(archive)}, baseline ${size(bytes.baseline)})`,
    `replay ${stage.replaySeconds.toFixed(1)} s`,
    `file ${stage.ofFresh.toFixed(2)} × fresh`,
  ].join("; ");
  return { measure: `after ${stage.syncs} syncs`, value, aim: "", reached: null };
};

export const years: BenchCase = {
  id: "years",
  title: `${SIZE} hourly syncs in simulated time of ${(ROWS.accounts + ROWS.signals).toLocaleString("en")} rows of which 0.45% change every other hour; archive and history kept for ${KEPT_DAYS} days`,
  run: async () => {
    const found = await stages();
    const [first, last] = [found[0], found.at(-1)];
    if (first === undefined || last === undefined) return [];
    return [
      ...found.map(line),
      atMost(`processor time of a sync, after ${last.syncs} of after ${first.syncs}`, last.cpu / first.cpu, 1.5, " ×"),
      atMost("working file, of a new file with its contents", last.ofFresh, 1.6, " ×"),
    ];
  },
};
