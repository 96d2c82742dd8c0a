// Case fence: what the fence around a user's statement costs. Processes with and without it take turns; each statement has its own.
import { snapshotPath } from "../src/core/data-dir.ts";
import { type BenchCase, type Figure, median } from "./case.ts";
import { type FencedRun, queryOnce } from "./fenced-query.ts";
import { startBenchMirror } from "./mirror-of.ts";

const QUERIES = 100;
const SQL = "SELECT type, count(*) FROM main.signals GROUP BY ALL ORDER BY ALL";

const plain = (measure: string, value: string): Figure => ({ measure, value, aim: "", reached: null });
const shown = ({ ms, cpuMs }: Pick<FencedRun, "ms" | "cpuMs">) => `${ms.toFixed(0)} ms · ${cpuMs.toFixed(0)} ms`;

export const fence: BenchCase = {
  id: "fence",
  title: `The fence of a user's SQL, ${QUERIES} queries with it and ${QUERIES} without it, in turns`,
  run: async () => {
    const mirror = await startBenchMirror({ accounts: 100, seed: 12 });
    try {
      await mirror.sync();
      const runs = { with: [] as FencedRun[], without: [] as FencedRun[] };
      for (let nth = 0; nth < QUERIES; nth += 1) {
        runs.without.push(await queryOnce(snapshotPath(mirror.dataDir), SQL, false));
        runs.with.push(await queryOnce(snapshotPath(mirror.dataDir), SQL, true));
      }
      return (["without", "with"] as const).flatMap((which) => {
        const all = runs[which];
        const [first, last] = [all[0], all.at(-1)];
        const middle = {
          ms: median(all.map(({ ms }) => ms)),
          cpuMs: all.reduce((sum, one) => sum + one.cpuMs, 0) / QUERIES,
        };
        if (first === undefined || last === undefined) return [];
        return [
          plain(`${which} the fence, first query: by the clock · processor time`, shown(first)),
          plain(`${which} the fence, hundredth query`, shown(last)),
          plain(`${which} the fence, median by the clock · mean of processor time`, shown(middle)),
        ];
      });
    } finally {
      await mirror.close();
    }
  },
};
