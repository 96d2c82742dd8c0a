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

/** A program that runs until the test ends it. */
export interface Started {
  readonly pid: number;
  /** Resolves to the first match in what it writes; rejects if it ends before. */
  seen(pattern: RegExp): Promise<string>;
  /** SIGTERM; resolves to its exit code. */
  stop(): Promise<number | null>;
}

/** Starts a program that runs until it is stopped. */
export const start = (file: string, argv: readonly string[], env: Readonly<Record<string, string>>): Started => {
  const child = spawn(file, argv, { env: clientEnv(env), stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  const output = readOutput(child);
  const text = () => output.out() + output.err();
  return {
    pid: child.pid ?? 0,
    seen: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(text());
          if (found !== null) resolve(found[1] ?? found[0]);
        };
        for (const stream of [child.stdout, child.stderr]) stream.on("data", look);
        void output.ended.then(() => reject(new Error(`${argv.join(" ")} ended:\n${text()}`)));
        look();
      }),
    stop: async () => {
      child.kill("SIGTERM");
      const { code } = await output.ended;
      running.delete(child);
      return code;
    },
  };
};
