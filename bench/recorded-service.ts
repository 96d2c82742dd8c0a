// A service that answers from memory what a sandbox answered before: costs next to nothing, so that what is measured
// against it is the client alone.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Sandbox } from "../src/sandbox/sandbox.ts";

const recorded = z.object({ status: z.int(), headers: z.record(z.string(), z.string()), body: z.string() });
/** What stands in the file that the process serves. */
export const recordedAnswers = z.array(z.tuple([z.string(), recorded]));

/** Path and query → answer. */
export type Recording = ReadonlyMap<string, z.infer<typeof recorded>>;

export const recordingKey = (path: string, query: URLSearchParams): string => {
  query.sort();
  return `${path}?${query}`;
};

/** Records every answer of the sandbox from now on. */
export const record = (sandbox: Sandbox): Recording => {
  const recording = new Map<string, z.infer<typeof recorded>>();
  sandbox.intercept(async (request, next) => {
    const { status, headers, body } = await next();
    recording.set(recordingKey(request.path, new URLSearchParams(request.query)), { status, headers, body });
    return { status, headers, body };
  });
  return recording;
};

/** Serves a recording on a free port of this machine, from a process of its own. */
export const serveRecording = async (recording: Recording) => {
  const dir = await mkdtemp(join(tmpdir(), "duckmirror-bench-recorded-"));
  const file = join(dir, "answers.json");
  await writeFile(file, JSON.stringify([...recording]));
  const script = fileURLToPath(new URL("recorded-process.js", import.meta.url));
  const child = spawn(process.execPath, [script, file], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const [url] = await Promise.race([
    once(createInterface(child.stdout), "line"),
    ended.then(() => {
      throw new TypeError("the recorded service ended before it listened");
    }),
  ]);
  return {
    url: String(url),
    close: async () => {
      child.kill();
      await ended;
      await rm(dir, { recursive: true, force: true });
    },
  };
};
