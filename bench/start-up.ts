// Case start-up: how long `duckmirror --help` takes, and a sync that finds nothing new, from the start of the process to
// its exit, against a service on this machine.
import { z } from "zod";
import { type BenchCase, type Figure, median } from "./case.ts";
import { startBenchMirror } from "./mirror-of.ts";
import { type ProgramRun, runProgram, runScript } from "./program.ts";

const ROUNDS = 9;
const ACCOUNTS = 300;

const inMs = (measure: string, ms: readonly number[], mostMs: number | null): Figure => {
  const middle = median(ms);
  return {
    measure,
    value: `${middle.toFixed(0)} ms (${Math.min(...ms).toFixed(0)} to ${Math.max(...ms).toFixed(0)})`,
    aim: mostMs === null ? "" : `≤ ${mostMs} ms`,
    reached: mostMs === null ? null : middle <= mostMs,
  };
};

/** By the clock, which counts what else the machine does, and of processor time, which does not. */
const times = (measure: string, runs: readonly ProgramRun[], mostMs: number | null): readonly Figure[] => [
  inMs(
    measure,
    runs.map(({ ms }) => ms),
    mostMs,
  ),
  inMs(
    `${measure}: processor time`,
    runs.map(({ cpuMs }) => cpuMs),
    null,
  ),
];

/** One request per organization list: nothing new was found. */
const report = z.object({ requests: z.literal(3), status: z.literal("done") });

export const startUp: BenchCase = {
  id: "start-up",
  title: `Start-up, medians of ${ROUNDS} rounds, mirror of ${ACCOUNTS} accounts`,
  run: async () => {
    const mirror = await startBenchMirror({ accounts: ACCOUNTS, seed: 12 });
    try {
      await mirror.sync();
      const env = {
        DUCKMIRROR_BASE_URL: mirror.sandbox.url,
        DUCKMIRROR_TOKEN: mirror.sandbox.token,
        DUCKMIRROR_DATA_DIR: mirror.dataDir,
        DUCKMIRROR_RATE_LIMIT: "1000000",
      };
      const node: ProgramRun[] = [];
      const help: ProgramRun[] = [];
      const sync: ProgramRun[] = [];
      for (let round = 0; round <= ROUNDS; round++) {
        const nothing = await runScript(["-e", "0"], {}, mirror.dataDir);
        const helped = await runProgram(["--help"], {}, mirror.dataDir);
        const synced = await runProgram(["sync", "--json"], env, mirror.dataDir);
        // The first round fills the machine's file cache.
        if (round === 0) continue;
        node.push(nothing);
        help.push(helped);
        sync.push(synced);
        report.parse(JSON.parse(synced.out));
      }
      return [
        ...times("Node itself, running nothing", node, null),
        ...times("`duckmirror --help`", help, 150),
        ...times("`duckmirror sync` that finds nothing new", sync, 1500),
      ];
    } finally {
      await mirror.close();
    }
  },
};
