// Services nobody here designed: each seed draws everything API.md does not show. See docs/RELIABILITY.md. Shows P1.
import { expect, test } from "vitest";
import type { MirrorKind } from "./open-mirror.ts";
import { runTrial } from "./trial.ts";

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, at) => from + at);
const { SECOND_SEEDS = 8, SECOND_FILES = 1 } = process.env;

const runSeed = async (seed: number, kind: MirrorKind) => {
  const { problems, story } = await runTrial(seed, kind);
  const alone = `alone: npx tsx test/second-server/run.ts ${seed} ${seed} ${kind}`;
  expect(problems, [alone, ...story].join("\n")).toEqual([]);
};

// Some at once: while one waits for a socket, others go on.
test.concurrent.each(numbers(1, Number(SECOND_SEEDS)))(
  "seed %i: the mirror equals the service, at the contract's exit codes and credits",
  (seed) => runSeed(seed, "memory"),
);

// With archive, journal and published snapshot, opened and closed by every sync.
test.concurrent.each(numbers(1, Number(SECOND_FILES)))(
  "seed %i in files: what is published equals the service",
  (seed) => runSeed(seed, "files"),
);

// The tables in memory, over which most seeds run, answer as those in files do.
test.concurrent.each(numbers(101, Math.floor(Number(SECOND_FILES) / 2)))(
  "seed %i in files and in memory: both answer each call alike",
  (seed) => runSeed(seed, "paired"),
);
