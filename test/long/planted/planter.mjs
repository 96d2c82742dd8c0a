// Plants links at a path again and again, until it is killed: node planter.mjs PATH TARGET...
import { rmSync, symlinkSync } from "node:fs";

const [, , path, ...targets] = process.argv;
process.stdout.write("planting\n");
for (let round = 0; ; round += 1) {
  try {
    symlinkSync(targets[round % targets.length], path);
  } catch (error) {
    // The command made its own: take that one away every now and then, as a rename would.
    if (error.code === "EEXIST" && Math.random() < 0.01) rmSync(path, { force: true, recursive: true });
  }
}
