// The built command line as a user runs it: a process of its own, from start to exit.
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { z } from "zod";

export interface ProgramRun {
  readonly ms: number;
  /** Processor time of all its threads, in ms. */
  readonly cpuMs: number;
  /** Most memory the process ever held, in MB. */
  readonly peakMb: number;
  readonly out: string;
}

/** Makes a process of Node's tell what it used when it exits. */
const TELL = `data:text/javascript,${encodeURIComponent(
  'import { writeSync } from "node:fs"; process.on("exit", () => writeSync(3, JSON.stringify(process.resourceUsage())))',
)}`;
const measured = z
  .object({ userCPUTime: z.number(), systemCPUTime: z.number(), maxRSS: z.number() })
  .transform(({ userCPUTime, systemCPUTime, maxRSS }) => ({
    cpuMs: (userCPUTime + systemCPUTime) / 1000,
    peakMb: maxRSS / 1024,
  }));

const textOf = async (stream: Readable | null): Promise<string> => {
  const parts: Buffer[] = [];
  if (stream === null) return "";
  for await (const part of stream) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString("utf8");
};

const isReadable = (stream: unknown): stream is Readable => typeof stream === "object" && stream !== null;

/** Runs a script of Node's to its end. Throws when it ends with anything but 0. `prefix`: a command that runs the others. */
export const runScript = async (
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
  prefix: readonly string[] = [],
): Promise<ProgramRun> => {
  const start = performance.now();
  const [command = process.execPath, ...rest] = [...prefix, process.execPath, "--import", TELL, ...argv];
  const child = spawn(command, rest, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  const [, , , usage] = child.stdio;
  const ended = once(child, "close").then(([code, by]) => ({ code, by, ms: performance.now() - start }));
  const texts = Promise.all([textOf(child.stdout), textOf(child.stderr), isReadable(usage) ? textOf(usage) : ""]);
  const { code, ms, by } = await ended;
  const [out, errors, used] = await texts;
  if (code !== 0) throw new TypeError(`${argv.join(" ")} ended with ${code ?? by}: ${errors}`);
  return { ms, out, ...measured.parse(JSON.parse(used)) };
};

/** Runs `duckmirror <args>`. */
export const runProgram = (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
  prefix: readonly string[] = [],
): Promise<ProgramRun> =>
  runScript([fileURLToPath(new URL("../src/cli/main.js", import.meta.url)), ...args], env, cwd, prefix);
