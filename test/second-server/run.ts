// Runs seeds of the second server and prints the verdicts.
//   npx tsx test/second-server/run.ts 1 300           seeds 1 to 300
//   npx tsx test/second-server/run.ts 17              seed 17 alone, with its traits and its story
//   npx tsx test/second-server/run.ts 1 20 files      over DuckDB files, with archive and snapshot, instead of tables
// in memory
//   npx tsx test/second-server/run.ts 1 20 dist/src/cli/main.js   the built program as a child process
import { runSeeds } from "./seeds.ts";
import { drawTraits } from "./traits.ts";

const [first = "1", last = first, kind = "memory"] = process.argv.slice(2);
const seeds = Array.from({ length: Number(last) - Number(first) + 1 }, (_, at) => Number(first) + at);
const alone = seeds.length === 1;
if (alone) process.stdout.write(`${JSON.stringify(drawTraits(Number(first)), null, 1)}\n`);

const failed = await runSeeds(
  seeds,
  kind === "memory" || kind === "files" || kind === "paired" ? kind : { program: kind },
  (result) => {
    if (alone || result.problems.length > 0) process.stdout.write(`  ${result.story.join("\n  ")}\n`);
    const verdict =
      result.problems.length === 0 ? "good" : `FAILED\n    ${result.problems.slice(0, 12).join("\n    ")}`;
    const figures = `${result.requests.length} requests, ${result.refusedForSpeed} too fast, ${Math.round(result.realMs)} ms`;
    process.stdout.write(`seed ${result.seed}: ${figures}: ${verdict}\n`);
  },
);
process.stdout.write(`${failed.length} of ${seeds.length} seeds failed: ${failed.join(" ")}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
