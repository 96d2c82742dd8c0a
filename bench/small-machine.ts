// Case small-machine: every command that works on a whole mirror, with 2 GiB of memory (`--limit 1`: 1 GiB), in a control
// group that ends what wants more. Needs root. `--size 10000000`: rows of the long list.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { atMost, type BenchCase, type Figure } from "./case.ts";
import { limitMemory, type MemoryLimit } from "./limited-memory.ts";
import { options } from "./options.ts";
import { runProgram } from "./program.ts";

const GIB = 1024 ** 3;
const { size: ROWS = 1_000_000, limit: LIMIT_GIB } = options;

/** What a user may do with a mirror of a long list, in this order. */
const LONG_LIST: readonly (readonly string[])[] = [
  ["sync", "signals", "contacts"],
  ["sync", "signals", "--full"],
  ["verify", "signals", "--repair"],
  ["export", "--format", "parquet"],
  ["forget", "ada@example.com", "--yes"],
  ["replay"],
];
/** 40 rows of 5 MB each, five a page. */
const LONG_TEXTS = { rows: 40, bytes: 5_000_000, perPage: 5 };
const OF_LONG_TEXTS: readonly (readonly string[])[] = [
  ["sync", "signals"],
  ["sync", "signals", "--full"],
  ["export", "--format", "parquet"],
  ["replay"],
];

const startService = async (args: readonly number[]) => {
  const script = fileURLToPath(new URL("./long-list-service.js", import.meta.url));
  const service = spawn(process.execPath, [script, ...args.map(String)], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(service.stdout, "data");
  return { url: String(line).trim(), stop: () => service.kill() };
};

/** Runs the commands one after the other on one mirror; each must end with 0. */
const measure = async (
  what: string,
  commands: readonly (readonly string[])[],
  service: readonly number[],
  limit: MemoryLimit,
): Promise<readonly Figure[]> => {
  const dir = await mkdtemp(join(tmpdir(), "duckmirror-small-machine-"));
  const { url, stop } = await startService(service);
  const env = {
    DUCKMIRROR_BASE_URL: url,
    DUCKMIRROR_TOKEN: "bench",
    DUCKMIRROR_DATA_DIR: dir,
    DUCKMIRROR_RATE_LIMIT: "1000000",
  };
  const figures: Figure[] = [];
  try {
    for (const command of commands) {
      const run = await runProgram([...command, "--quiet"], env, dir, limit.prefix);
      const name = `${what}: ${command.join(" ")}, ${(run.cpuMs / 1000).toFixed(0)} s of processor time`;
      figures.push(atMost(name, run.peakMb / 1024, LIMIT_GIB, " GiB"));
      process.stderr.write(`${name}, ${run.peakMb.toFixed(0)} MiB, ${(run.ms / 1000).toFixed(0)} s\n`);
    }
    return figures;
  } finally {
    stop();
    await rm(dir, { recursive: true, force: true });
  }
};

export const smallMachine: BenchCase = {
  id: "small-machine",
  title: `Most memory of a process on a machine limited to ${LIMIT_GIB} GiB; each command ended with 0`,
  run: async () => {
    const limit = limitMemory(LIMIT_GIB * GIB);
    try {
      const long = await measure(`${ROWS.toLocaleString("en")} rows`, LONG_LIST, [ROWS], limit);
      const { rows, bytes, perPage } = LONG_TEXTS;
      const texts = await measure(`${rows} rows of 5 MB`, OF_LONG_TEXTS, [rows, bytes, perPage], limit);
      const reached = { value: String(limit.timesReached()), aim: "", reached: null };
      return [...long, ...texts, { measure: "times the limit was reached, mostly by the cache of files", ...reached }];
    } finally {
      limit.remove();
    }
  },
};
