// Case publish: what it takes to put a new snapshot into place after a commit, against a plain copy of the same file.
import { copyFile, open } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../src/core/clock.ts";
import { openWarehouse } from "../src/warehouse/file/warehouse.ts";
import { type BenchCase, type Figure, ofRounds } from "./case.ts";
import { startBenchMirror } from "./mirror-of.ts";

const ROUNDS = 9;
/** Signals put in beside those of the mirror, about 180 bytes each. */
const SIZES = [0, 1_000_000, 2_000_000];

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

const compare = async (signals: number): Promise<Figure> => {
  const mirror = await startBenchMirror({ accounts: 100, seed: 9 });
  try {
    await mirror.sync();
    const warehouse = await openWarehouse({ dataDir: mirror.dataDir, clock: systemClock });
    try {
      await warehouse.database.run(
        `INSERT INTO main.signals (id, account_id, type, headline, description, date, _synced_at, _run_id)
         SELECT 1000000000 + i, hash(i) % 5000, 'podcast', md5(i::VARCHAR), repeat(md5((i * 7)::VARCHAR), 8), now(), now(), 'r1'
         FROM range(${signals}) t(i)`,
      );
      const ratios: number[] = [];
      let bytes = 0;
      for (let round = 0; round < ROUNDS; round++) {
        // Something to publish; what this costs is the commit's.
        await warehouse.database.run(`UPDATE main.accounts SET name = 'round ${round}' WHERE id % 10 = 0`);
        await warehouse.database.flushWal();
        const published = await timed(async () => {
          ({ bytes } = await warehouse.publish());
        });
        // The snapshot has the working file's bytes; that one must not be opened by path while it is in use.
        const copied = await timed(() => copyDurably(warehouse.snapshot, join(mirror.dataDir, "copy.duckdb")));
        ratios.push(published / copied);
      }
      const size = `${(bytes / 2 ** 20).toFixed(0)} MiB`;
      // Opening the copy to prove it takes its time whatever the size: only of files of some size is a ratio promised.
      return ofRounds(`publish ${size}, of copying it durably`, ratios, signals === 0 ? null : { most: 1.2 });
    } finally {
      await warehouse.close();
    }
  } finally {
    await mirror.close();
  }
};

export const publish: BenchCase = {
  id: "publish",
  title: `Publish against a durable copy of the same file, medians of ${ROUNDS} rounds in turns, least to most`,
  run: async () => {
    const figures: Figure[] = [];
    for (const size of SIZES) figures.push(await compare(size));
    return figures;
  },
};
