// Runs other programs to their end, and answers with what they wrote.
import { type ChildProcess, spawn } from "node:child_process";
import { type Ended, readOutput } from "../support/child-output.ts";

const running = new Set<ChildProcess>();
// An interrupted run leaves no process behind.
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Names of settings whose values are no business of a client under test. */
const IS_OURS = /^(DUCKMIRROR_|npm_|NODE_OPTIONS|VITEST|PYTHON)/;

/** The environment of a client: this one's, without settings of this program, of npm and of the tests; then `more`. */
const clientEnv = (more: Readonly<Record<string, string>>): Record<string, string | undefined> => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !IS_OURS.test(name))),
  ...more,
});

/** Runs a program to its end. */
export const run = async (
  file: string,
  argv: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string } = {},
): Promise<Ended> => {
  const child = spawn(file, argv, {
    env: clientEnv(options.env ?? {}),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  try {
    const ended = await readOutput(child).ended;
    return ended.code === null ? { ...ended, err: `${ended.err}\nended by ${child.signalCode}\n` } : ended;
  } finally {
    running.delete(child);
  }
};

/** Runs a program that must succeed. Answers with its stdout; throws what it wrote when it fails. */
export const runWell = async (...call: Parameters<typeof run>): Promise<string> => {
  const { code, out, err } = await run(...call);
  if (code !== 0) throw new Error(`${call[0]} ${call[1].join(" ")} ended with ${code}\n${out}\n${err}`);
  return out;
};
