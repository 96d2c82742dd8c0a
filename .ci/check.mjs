// `npm run check`: types, lint and format, and unused code, side by side. Prints each check that fails, and its output.
import { spawn } from "node:child_process";

const CHECKS = ["types", "types:page", "lint", "unused"];

/** Runs one script of package.json; resolves to what it printed and whether it passed. */
const run = (script) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [process.env.npm_execpath, "run", "--silent", script]);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (output += bytes));
    child.once("error", reject);
    child.once("close", (code) => resolve({ script, output, passed: code === 0 }));
  });

const results = await Promise.all(CHECKS.map(run));
const failed = results.filter(({ passed }) => !passed);
for (const { script, output } of failed) process.stdout.write(`npm run ${script}\n${output}\n`);
process.stdout.write(failed.length === 0 ? "types, lint, format, unused code: in order\n" : "");
process.exitCode = failed.length === 0 ? 0 : 1;
