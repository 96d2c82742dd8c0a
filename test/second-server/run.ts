// Runs seeds of the second server, a few at a time, and prints the verdicts.
//   npx tsx test/second-server/run.ts 1 300           seeds 1 to 300
//   npx tsx test/second-server/run.ts 17              seed 17 alone, with its traits and its story
//   npx tsx test/second-server/run.ts 1 20 files      over DuckDB files, with archive and snapshot, instead of tables
// in memory; `paired`: over both
//   npx tsx test/second-server/run.ts 1 20 dist/src/cli/main.js   the built program as a child process
import { drawTraits } from "./traits.ts";
import { runTrial } from "./trial.ts";

/** While one waits for the disk or for its clock, others go on. */
const AT_ONCE = 3;

const [first = "1", last = first, named = "memory"] = process.argv.slice(2);
const kind = named === "memory" || named === "files" || named === "paired" ? named : { program: named };
const left = Array.from({ length: Number(last) - Number(first) + 1 }, (_, at) => Number(first) + at);
const count = left.length;
const alone = count === 1;
if (alone) process.stdout.write(`${JSON.stringify(drawTraits(Number(first)), null, 1)}\n`);

const failed: number[] = [];
const work = async (): Promise<void> => {
  for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
    const { problems, story, requests, refusedForSpeed, realMs } = await runTrial(seed, kind);
    if (problems.length > 0) failed.push(seed);
    if (alone || problems.length > 0) process.stdout.write(`  ${story.join("\n  ")}\n`);
    const verdict = problems.length === 0 ? "good" : `FAILED\n    ${problems.slice(0, 12).join("\n    ")}`;
    const figures = `${requests.length} requests, ${refusedForSpeed} too fast, ${Math.round(realMs)} ms`;
    process.stdout.write(`seed ${seed}: ${figures}: ${verdict}\n`);
  }
};
await Promise.all(Array.from({ length: AT_ONCE }, work));
failed.sort((a, b) => a - b);
process.stdout.write(`${failed.length} of ${count} seeds failed: ${failed.join(" ")}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
