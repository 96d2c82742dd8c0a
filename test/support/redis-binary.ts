// Finds the program that tests start as Redis: the one that TEST_REDIS_SERVER names (a path), redis-server or
// valkey-server on the PATH, else Debian's package.
import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["redis-server", "valkey-server"] as const;

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** Path of a program on the PATH; null when there is none of that name. */
export const programOnPath = (name: string): string | null =>
  (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .find(isProgram) ?? null;

/** Path of a Redis or Valkey server; null when this machine has none. Throws where TEST_REDIS_SERVER names no program. */
export const redisBinary = (): string | null => {
  const named = process.env.TEST_REDIS_SERVER ?? "";
  if (named === "") return NAMES.map(programOnPath).find((path) => path !== null) ?? null;
  if (!isProgram(named)) throw new Error(`TEST_REDIS_SERVER: ${named} is no program`);
  return named;
};

/** Installs Debian's package as root. Throws with what to do where that is not possible: a missing Redis never skips. */
export const installRedis = (): void => {
  const wanted = "The tests need a Redis server: install redis-server or valkey-server, or run them as root on Debian";
  if (process.getuid?.() !== 0 || programOnPath("apt-get") === null) throw new Error(`${wanted}.`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  // Another test run on this machine may be installing, too.
  const apt = (...args: readonly string[]) =>
    execFileSync("apt-get", ["-o", "DPkg::Lock::Timeout=300", "-qq", ...args], { env, stdio: "pipe" });
  apt("update");
  apt("install", "-y", "--no-install-recommends", "redis-server");
  if (redisBinary() === null) throw new Error(`${wanted}; its package was installed, yet no server is on the PATH.`);
};
