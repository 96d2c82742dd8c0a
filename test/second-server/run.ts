// Runs seeds of the second server and prints the verdicts.
//   npx tsx test/second-server/run.ts 1 300           seeds 1 to 300
//   npx tsx test/second-server/run.ts 17              seed 17 alone, with its traits and its story
import { drawTraits } from "./traits.ts";
import { runTrial } from "./trial.ts";

const [first = "1", last = first] = process.argv.slice(2);
const alone = first === last;
let failed = 0;
for (let seed = Number(first); seed <= Number(last); seed += 1) {
  const result = await runTrial(seed, { program: process.env.DUCKMIRROR_PROGRAM ?? null });
  if (result.problems.length > 0) failed += 1;
  if (alone) process.stdout.write(`${JSON.stringify(drawTraits(seed), null, 1)}\n`);
  if (alone || result.problems.length > 0) process.stdout.write(`  ${result.story.join("\n  ")}\n`);
  const verdict = result.problems.length === 0 ? "good" : `FAILED\n    ${result.problems.slice(0, 12).join("\n    ")}`;
  process.stdout.write(
    `seed ${seed}: ${result.requests} requests, ${result.refusedForSpeed} too fast, ${Math.round(result.realMs)} ms: ${verdict}\n`,
  );
}
process.stdout.write(`${failed} of ${Number(last) - Number(first) + 1} seeds failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
