// Starts the program: connects argv, environment, streams and signals to runCli, and its result to the exit code.

import { basename, delimiter, dirname, relative } from "node:path";
import { text } from "node:stream/consumers";
import { setFlagsFromString } from "node:v8";
import pc from "picocolors";
import { interruptSoon } from "../core/async/interrupts.ts";
import { systemClock } from "../core/clock.ts";
import { DuckmirrorError, EXIT } from "../core/errors.ts";
import { packageVersion } from "../core/program-files.ts";
import { createScrubber } from "../core/secret.ts";
import { system } from "../core/system.ts";
import { asProblem, writeProblem } from "./problem.ts";
import { runCli } from "./program.ts";
import { createAsker, outputWidth, type Terminal, wantsColour } from "./terminal/terminal.ts";

// How the program was started, so that the commands it suggests work when they are typed.

/**
 * `duckmirror`, `npx duckmirror`, or `node dist/src/cli/main.js`. `script`: the path that Node was given.
 */
export const invocationOf = (
  script: string,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): string => {
  if (env.npm_command === "exec") return "npx duckmirror";
  // Node is given the link in a `bin` folder of an installed package, or, on Windows, the file in the package.
  const isInstalled = /^duckmirror(\.\w+)?$/.test(basename(script)) || /[\\/]node_modules[\\/]/.test(script);
  if (!isInstalled) return `node ${relative(cwd, script) || script}`;
  const onPath = (env.PATH ?? "").split(delimiter).includes(dirname(script));
  return onPath || !/[\\/]node_modules[\\/]/.test(script) ? "duckmirror" : "npx duckmirror";
};

const terminal: Terminal = {
  out: (result) =>
    new Promise((resolve) => {
      if (process.stdout.write(result)) resolve();
      else process.stdout.once("drain", resolve);
    }),
  err: (line) => void process.stderr.write(line),
  readInput: () => text(process.stdin),
  isTty: {
    in: process.stdin.isTTY === true,
    out: process.stdout.isTTY === true,
    // A terminal without a size (some containers) cannot show live lines; it gets log lines.
    err: process.stderr.isTTY === true && process.stderr.rows > 0,
  },
  get columns() {
    return outputWidth(process.env, process.stdout.isTTY === true ? process.stdout.columns : null);
  },
  get errColumns() {
    // Lines that are redrawn must not be wider than the terminal.
    return outputWidth({}, process.stderr.isTTY === true ? process.stderr.columns : null);
  },
  outColours: pc.createColors(wantsColour(process.env, process.stdout.isTTY === true)),
  errColours: pc.createColors(wantsColour(process.env, process.stderr.isTTY === true)),
  errStream: process.stderr,
};

// A sync creates much garbage that survives a commit. By default V8 lets the heap grow to several times the used size
// before collecting it (docs/PERFORMANCE.md).
setFlagsFromString("--heap-growing-percent=50");

// All files contain customers' data, so only their owner can read them.
process.umask(0o077);

const scrubber = createScrubber();
const stop = new AbortController();
for (const name of system.stopSignals) {
  process.on(name, () => {
    // The second signal ends the program at once. That is safe: uncommitted pages are fetched again.
    if (stop.signal.aborted) process.exit(EXIT.interrupted);
    stop.abort(new DuckmirrorError("INTERRUPTED"));
    interruptSoon();
  });
}
let held = false;
const deps = {
  terminal,
  // Node opens stdin when it is asked for.
  ask: createAsker({
    get input() {
      return process.stdin;
    },
    output: process.stderr,
  }),
  env: process.env,
  cwd: process.cwd(),
  clock: systemClock,
  signal: stop.signal,
  scrubber,
  version: packageVersion(),
  invocation: invocationOf(process.argv[1] ?? "", process.env, process.cwd()),
  onHeld: () => {
    held = true;
  },
};
// `duckmirror query ... | head` closes the pipe, which is no failure.
process.stdout.on("error", (error) => {
  const code = "code" in error ? error.code : null;
  if (code === "EPIPE") process.exit(EXIT.done);
  const problem =
    code === "ENOSPC" ? new DuckmirrorError("DISK_FULL", { detail: "the output was not written" }) : asProblem(error);
  writeProblem(problem, deps, false);
  process.exit(EXIT.unexpected);
});
process.stderr.on("error", () => undefined);

// Node would print the error itself, including any secret in it.
process.on("uncaughtException", (error) => {
  writeProblem(asProblem(error), deps, true);
  process.exit(EXIT.unexpected);
});

process.exitCode = await runCli(process.argv.slice(2), deps);
if (held) process.exit();
