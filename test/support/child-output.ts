// What a child process writes, and how it ends.
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";

export interface Ended {
  /** null after a signal. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface ChildOutput {
  /** stdout so far. */
  out(): string;
  /** stderr so far. */
  err(): string;
  /** Resolves when the process is gone and its output is complete. */
  readonly ended: Promise<Ended>;
}

/** Collects what the child writes from now on. */
export const readOutput = (child: ChildProcessByStdio<Writable | null, Readable, Readable>): ChildOutput => {
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => {
    out += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    err += String(chunk);
  });
  const ended = once(child, "close").then(([code]) => ({ code: typeof code === "number" ? code : null, out, err }));
  return { out: () => out, err: () => err, ended };
};
