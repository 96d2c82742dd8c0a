// The built command line as a user runs it: a process of its own, from start to exit.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface ProgramRun {
  readonly ms: number;
  /** Most memory the process ever held, in MB. */
  readonly peakMb: number;
  readonly out: string;
}

const LOOK_EVERY_MS = 50;

/** The high-water mark so far; null when the process is gone. */
const peakOf = (pid: number): number | null => {
  try {
    const [, kb] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return kb === undefined ? null : Number(kb) / 1024;
  } catch {
    return null;
  }
};

/** Runs a script of Node's to its end. Throws when it ends with anything but 0. */
export const runScript = async (
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
): Promise<ProgramRun> => {
  const start = performance.now();
  const child = spawn(process.execPath, argv, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const parts: Buffer[] = [];
  const errors: Buffer[] = [];
  child.stdout.on("data", (part: Buffer) => parts.push(part));
  child.stderr.on("data", (part: Buffer) => errors.push(part));
  let peakMb = 0;
  const looking = setInterval(() => {
    peakMb = Math.max(peakMb, peakOf(child.pid ?? 0) ?? 0);
  }, LOOK_EVERY_MS);
  const [code] = await once(child, "close");
  const ms = performance.now() - start;
  clearInterval(looking);
  if (code !== 0) throw new TypeError(`${argv.join(" ")} ended with ${code}: ${Buffer.concat(errors)}`);
  return { ms, peakMb, out: Buffer.concat(parts).toString("utf8") };
};

/** Runs `duckmirror <args>`. */
export const runProgram = (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
): Promise<ProgramRun> => runScript([fileURLToPath(new URL("../src/cli/main.js", import.meta.url)), ...args], env, cwd);
