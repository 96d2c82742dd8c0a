// Case publish: what it takes to put a new snapshot into place, against a plain copy of the same file.
import { copyFile, open } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../src/core/clock.ts";
import { openWarehouse } from "../src/warehouse/warehouse.ts";
import { type BenchCase, median, ratio } from "./case.ts";
import { startBenchMirror } from "./mirror-of.ts";

const ACCOUNTS = 300;
const ROUNDS = 9;

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

/** Copies a file and makes the copy durable. */
const copyDurably = async (from: string, to: string): Promise<void> => {
  await copyFile(from, to);
  const handle = await open(to, "r");
  await handle.sync();
  await handle.close();
};

export const publish: BenchCase = {
  id: "publish",
  title: `Publish, mirror of ${ACCOUNTS} accounts, medians of ${ROUNDS} rounds in turns`,
  run: async () => {
    const mirror = await startBenchMirror({ accounts: ACCOUNTS, seed: 9 });
    try {
      await mirror.sync();
      const warehouse = await openWarehouse({ dataDir: mirror.dataDir, clock: systemClock });
      const ratios: number[] = [];
      try {
        for (let round = 0; round < ROUNDS; round++) {
          const published = await timed(() => warehouse.publish());
          // The snapshot has the working file's bytes; that one must not be opened by path while it is in use.
          const copied = await timed(() => copyDurably(warehouse.snapshot, join(mirror.dataDir, "copy.duckdb")));
          ratios.push(published / copied);
        }
      } finally {
        await warehouse.close();
      }
      return [ratio("publish, of copying the file and syncing it", median(ratios))];
    } finally {
      await mirror.close();
    }
  },
};
