// Options of `npm run bench`, read once; the cases take what concerns them.
import { Command, InvalidArgumentError } from "commander";

const positive = (text: string): number => {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError("It has to be a number above 0.");
  return value;
};

interface Options {
  /** Ids of the cases to run; absent: those that need nothing but Node. */
  readonly only?: string;
  /** Rows, or syncs, of the cases that can be larger. Absent: each has its own. */
  readonly size?: number;
  /** GiB of the machine of `small-machine`. */
  readonly limit: number;
  /** Setting `memory` of `destinations`. */
  readonly memory: string;
  /** Seconds of a round of `fleet`. */
  readonly round: number;
  readonly accept: boolean;
}

export const options = new Command("npm run bench --")
  .description("Measures duckmirror, and writes the figures to docs/BENCHMARKS.md and docs/PEERS.md.")
  .option("--only <cases>", "cases to run, separated by commas")
  .option(
    "--size <number>",
    "rows of upsert, memory, small-machine and destinations; syncs of years; organizations of fleet",
    positive,
  )
  .option("--limit <gib>", "memory of the machine of small-machine", positive, 2)
  .option("--memory <size>", "setting memory of destinations", "2GB")
  .option("--round <seconds>", "length of a round of fleet", positive, 60)
  .option("--accept", "later runs are compared with the ratios of this one", false)
  .addHelpText(
    "after",
    `
Examples:
  npm run bench -- --only credits,rate
  npm run bench -- --only upsert,memory --size 10000000

Exit code 1: an aim was not reached, or a ratio is worse than the accepted one.
Cases, and what they need: docs/BENCHMARKS.md`,
  )
  .parse()
  .opts<Options>();
