// Starts writer-child.ts, export-child.ts or reader-child.ts as a process of its own and listens to its lines.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export interface Child {
  /** Next line of its output; null when it ended. */
  next(): Promise<string | null>;
  /** Writes a line to its input. */
  say(line: string): void;
  kill(): Promise<void>;
  /** Ends its input and waits for it. */
  end(): Promise<void>;
}

export const startChild = (...args: readonly string[]): Child => start(process.execPath, childArgs(args));

/** The same, in a process whose files may not grow beyond `blocks` of 512 bytes: a full disk, as far as it can tell. */
export const startLimitedChild = (blocks: number, ...args: readonly string[]): Child =>
  start("/bin/sh", ["-c", `ulimit -f ${blocks}; exec "$0" "$@"`, process.execPath, ...childArgs(args)]);

/** export-child.ts instead: exports below `root`, from version `first` on. */
export const startExportChild = (root: string, first: string): Child =>
  start(process.execPath, childArgs([root, first], "export-child.ts"));

/** reader-child.ts instead: twenty readers of a snapshot. */
export const startReaderChild = (snapshot: string): Child =>
  start(process.execPath, childArgs([snapshot], "reader-child.ts"));

const childArgs = (args: readonly string[], name = "writer-child.ts") => {
  const script = fileURLToPath(new URL(name, import.meta.url));
  return ["--import", "tsx", script, ...args];
};

const start = (command: string, args: readonly string[]): Child => {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(kill);
  return {
    next: async () => {
      const line = await lines.next();
      return line.done ? null : line.value;
    },
    say: (line) => void child.stdin.write(`${line}\n`),
    kill,
    end: async () => {
      child.stdin.end();
      await ended;
    },
  };
};
