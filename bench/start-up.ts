// Case start-up: how long `duckmirror --help` takes, and a sync that finds nothing new, from the start of the process to
// its exit, against a service on this machine.
import { z } from "zod";
import { type BenchCase, type Figure, median } from "./case.ts";
import { startBenchMirror } from "./mirror-of.ts";
import { runProgram, runScript } from "./program.ts";

const ROUNDS = 9;
const ACCOUNTS = 300;

const times = (measure: string, ms: readonly number[], mostMs: number | null): Figure => {
  const middle = median(ms);
  const least = Math.min(...ms).toFixed(0);
  return {
    measure,
    value: `${middle.toFixed(0)} ms (${least} to ${Math.max(...ms).toFixed(0)})`,
    aim: mostMs === null ? "" : `≤ ${mostMs} ms`,
    reached: mostMs === null ? null : middle <= mostMs,
  };
};

const report = z.object({ requests: z.number(), status: z.literal("done") });

export const startUp: BenchCase = {
  id: "start-up",
  title: `Start-up, medians of ${ROUNDS} rounds, mirror of ${ACCOUNTS} accounts`,
  run: async () => {
    const mirror = await startBenchMirror({ accounts: ACCOUNTS, seed: 12, maxPerPage: 1000 });
    try {
      await mirror.sync();
      const env = {
        DUCKMIRROR_BASE_URL: mirror.sandbox.url,
        DUCKMIRROR_TOKEN: mirror.sandbox.token,
        DUCKMIRROR_DATA_DIR: mirror.dataDir,
        DUCKMIRROR_RATE_LIMIT: "1000000",
      };
      const node: number[] = [];
      const help: number[] = [];
      const sync: number[] = [];
      let requests = 0;
      for (let round = 0; round <= ROUNDS; round++) {
        const nothing = await runScript(["-e", "0"], {}, mirror.dataDir);
        const helped = await runProgram(["--help"], {}, mirror.dataDir);
        const synced = await runProgram(["sync", "--json"], env, mirror.dataDir);
        // The first round fills the machine's file cache.
        if (round === 0) continue;
        node.push(nothing.ms);
        help.push(helped.ms);
        sync.push(synced.ms);
        ({ requests } = report.parse(JSON.parse(synced.out)));
      }
      return [
        times("Node itself, running nothing", node, null),
        times("`duckmirror --help`", help, 150),
        times(`\`duckmirror sync\` that finds nothing new, ${requests} requests`, sync, 1500),
      ];
    } finally {
      await mirror.close();
    }
  },
};
