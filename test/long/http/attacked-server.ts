// The built program as a server under attack, and what must hold of it meanwhile.

import { existsSync, readFileSync } from "node:fs";
import { expect } from "vitest";
import { type BuiltRun, startServing } from "../../acceptance/built-cli.ts";
import { HOST } from "./raw-request.ts";

/** Longest that another request may take during an attack, on a busy machine; what freezes a server lasts for 30 s. */
export const MOST_WAIT_MS = 5_000;
/** Largest memory that the server may ever have. */
export const MOST_MEMORY_KB = 600 * 1024;

export interface Attacked {
  readonly run: BuiltRun;
  readonly url: string;
  readonly port: number;
}

/** The built program serving the mirror on a free port. */
export const serving = async (dataDir: string, env: Readonly<Record<string, string>>): Promise<Attacked> => {
  const { url, ...run } = await startServing(["serve", "--json", "--data-dir", dataDir, "--listen", `${HOST}:0`], env);
  return { run, url, port: Number(new URL(url).port) };
};

/** Largest memory that a process ever had, kB; null where the system does not say. */
export const peakMemory = (pid: number | undefined): number | null => {
  const file = `/proc/${pid}/status`;
  return existsSync(file) ? Number(/VmHWM:\s+(\d+)/.exec(readFileSync(file, "utf8"))?.[1]) : null;
};

/** How long /healthz takes, ms. */
export const healthMs = async ({ url }: Attacked): Promise<number> => {
  const asked = performance.now();
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  return performance.now() - asked;
};
