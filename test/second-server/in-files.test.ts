// The same services over DuckDB files, with archive, journal and published snapshot, opened and closed by every sync;
// and proof that the tables in memory, over which most seeds run, answer every call as those in files do.
import { expect, test } from "vitest";
import { runTrial } from "./trial.ts";

/** Seeds 1 to this one over files; half of them, others, over both kinds of tables. `npm run test:long` sets more. */
const SEEDS = Number(process.env.SECOND_FILES ?? 1);
/** First seed over both kinds. */
const PAIRED_FROM = 101;

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, at) => from + at);
const replayOf = (seed: number, kind: string) => `alone: npx tsx test/second-server/run.ts ${seed} ${seed} ${kind}`;

test.concurrent.each(numbers(1, SEEDS))("seed %i in files: what is published equals the service", async (seed) => {
  const { problems, story } = await runTrial(seed, "files");
  expect(problems, [replayOf(seed, "files"), ...story].join("\n")).toEqual([]);
});

test.concurrent.each(numbers(PAIRED_FROM, Math.floor(SEEDS / 2)))(
  "seed %i in files and in memory: both answer each call alike",
  async (seed) => {
    const { problems, story } = await runTrial(seed, "paired");
    expect(problems, [replayOf(seed, "paired"), ...story].join("\n")).toEqual([]);
  },
);
