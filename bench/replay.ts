// Case replay: rebuilding the mirror from its archive against the first mirror that filled it, and against DuckDB's own
// read_json of the same bodies; and how much memory it takes when the archive grows.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { replayJob } from "../jobs/replay.ts";
import { vocabulary } from "../src/catalog/field-rules.ts";
import { systemClock } from "../src/core/clock.ts";
import { resolveConfig } from "../src/core/config/config.ts";
import { atMost, type BenchCase, type Figure, ofRounds } from "./case.ts";
import { startBenchMirror } from "./mirror-of.ts";
import { effortOf, loadByDuckDb, ORGANIZATION, writeBodies } from "./plain-load.ts";
import { runProgram } from "./program.ts";
import { record, serveRecording } from "./recorded-service.ts";

const ROUNDS = 5;
const ACCOUNTS = 1300;
/** Rows of the two archives whose replays' memory is compared. */
const SIZES = [100_000, 400_000] as const;
const MOST_GROWTH = 1.2;

const replayIn = (dataDir: string) => {
  const env = { DUCKMIRROR_DATA_DIR: dataDir };
  const config = resolveConfig({ flags: {}, env, file: null, cwd: dataDir, vocabulary: vocabulary() });
  return replayJob(config, { partial: false }, { clock: systemClock, emit: () => undefined });
};

const speed = async (): Promise<readonly Figure[]> => {
  const dir = await mkdtemp(join(tmpdir(), "duckmirror-bench-replay-"));
  const source = await startBenchMirror({ accounts: ACCOUNTS, seed: 11, maxPerPage: 1000 });
  try {
    const recording = record(source.sandbox);
    await source.sync({ streams: ORGANIZATION });
    await writeBodies(recording, ORGANIZATION, dir);
    const service = await serveRecording(recording);
    const ofMirror: number[] = [];
    const ofPlain: number[] = [];
    try {
      for (let round = 0; round <= ROUNDS; round++) {
        const dataDir = join(dir, `mirror-${round}`);
        const env = { DUCKMIRROR_BASE_URL: service.url, DUCKMIRROR_DATA_DIR: dataDir };
        const mirrored = await effortOf(() => source.sync({ streams: ORGANIZATION }, env));
        const replayed = await effortOf(() => replayIn(dataDir));
        const plain = await loadByDuckDb(dir, ORGANIZATION, `plain-${round}.duckdb`);
        await rm(dataDir, { recursive: true });
        // In the first round code is compiled.
        if (round === 0) continue;
        ofMirror.push(mirrored.seconds / replayed.seconds);
        ofPlain.push(plain.seconds / replayed.seconds);
      }
    } finally {
      await service.close();
    }
    return [
      ofRounds("rows per second, of the first mirror's", ofMirror, { least: 1 }),
      ofRounds("rows per second, of read_json's", ofPlain),
    ];
  } finally {
    await source.close();
    await rm(dir, { recursive: true, force: true });
  }
};

const startLongList = async (rows: number): Promise<{ readonly url: string; readonly child: ChildProcess }> => {
  const script = fileURLToPath(new URL("long-list-service.js", import.meta.url));
  const child = spawn(process.execPath, [script, String(rows)], { stdio: ["ignore", "pipe", "inherit"] });
  const [url] = await once(createInterface(child.stdout), "line");
  return { url: String(url), child };
};

/** Peak memory of the command that replays an archive of so many signals, in MB. */
const peakOf = async (rows: number): Promise<number> => {
  const dir = await mkdtemp(join(tmpdir(), "duckmirror-bench-replay-"));
  const { url, child } = await startLongList(rows);
  try {
    const env = {
      DUCKMIRROR_BASE_URL: url,
      DUCKMIRROR_TOKEN: "a-token-of-the-benchmark",
      DUCKMIRROR_DATA_DIR: dir,
      DUCKMIRROR_RATE_LIMIT: "1000000",
    };
    await runProgram(["sync", "signals", "--json"], env, dir);
    const { peakMb } = await runProgram(["replay", "--json"], env, dir);
    return peakMb;
  } finally {
    child.kill();
    await once(child, "exit");
    await rm(dir, { recursive: true, force: true });
  }
};

const memory = async (): Promise<readonly Figure[]> => {
  const [small, large] = SIZES;
  const least = await peakOf(small);
  const most = await peakOf(large);
  const measure = `peak memory of a replay of ${large} rows, of one of ${small}`;
  const growth = atMost(measure, most / least, MOST_GROWTH, " ×");
  return [{ ...growth, value: `${growth.value} (${most.toFixed(0)} of ${least.toFixed(0)} MB)` }];
};

export const replay: BenchCase = {
  id: "replay",
  title: `Replay of the organization lists of ${ACCOUNTS} accounts, medians of ${ROUNDS} rounds`,
  run: async () => [...(await speed()), ...(await memory())],
};
