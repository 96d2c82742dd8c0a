// Finds the program that tests start as Redis: the one that TEST_REDIS_SERVER names (a path), redis-server or
// valkey-server on the PATH, else Debian's package.
import { installDebian } from "./debian-packages.ts";
import { isProgram, programOnPath } from "./program-on-path.ts";

const NAMES = ["redis-server", "valkey-server"] as const;

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
  installDebian(wanted, "redis-server");
  if (redisBinary() === null) throw new Error(`${wanted}; its package was installed, yet no server is on the PATH.`);
};
