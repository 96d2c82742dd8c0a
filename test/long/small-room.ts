// A place on disk that is small or read-only: a memory file system where the machine lets us mount one, else the nearest
// thing that needs no rights: a limit on file sizes, or permissions. Says which, so that a failure can be read.
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "vitest";
import { tempFolder } from "../acceptance/temp-folder.ts";

const mounted: string[] = [];
afterAll(() => {
  for (const dir of mounted.splice(0)) execFileSync("umount", ["--lazy", dir]);
});

const tryMount = (...args: readonly string[]): boolean => spawnSync("mount", args, { stdio: "ignore" }).status === 0;

export interface SmallRoom {
  readonly dir: string;
  readonly how: "tmpfs" | "limit";
  /** Puts in front of a command what bounds it; nothing once there is room. */
  bounded(command: string, args: readonly string[]): readonly [command: string, args: readonly string[]];
  /** From now on there is room. */
  enlarge(): void;
}

/** Room for `mebibytes` in all (`tmpfs`), or for each file (`limit`). */
export const smallRoom = (mebibytes: number): SmallRoom => {
  const dir = tempFolder();
  const how = tryMount("-t", "tmpfs", "-o", `size=${mebibytes}m,mode=700`, "tmpfs", dir) ? "tmpfs" : "limit";
  if (how === "tmpfs") mounted.push(dir);
  let large = false;
  return {
    dir,
    how,
    bounded: (command, args) => {
      if (how === "tmpfs" || large) return [command, args];
      // Shells count in blocks of 512 or 1024 bytes; a working file outgrows either limit.
      const blocks = Math.min(mebibytes, 8) * 1024;
      return ["/bin/sh", ["-c", `ulimit -f ${blocks}; exec "$0" "$@"`, command, ...args]];
    },
    enlarge: () => {
      large = true;
      if (how === "tmpfs") execFileSync("mount", ["-o", "remount,size=1g", dir]);
    },
  };
};

const permit = (dir: string, write: boolean): void => {
  for (const entry of readdirSync(dir, { withFileTypes: true, recursive: true })) {
    if (entry.isDirectory()) chmodSync(join(entry.parentPath, entry.name), write ? 0o700 : 0o500);
    else chmodSync(join(entry.parentPath, entry.name), write ? 0o600 : 0o400);
  }
  chmodSync(dir, write ? 0o700 : 0o500);
};

/** A directory whose writing can be forbidden and allowed again. Throws where neither mounts nor permissions can do it. */
export const lockableFolder = () => {
  const dir = tempFolder();
  const isMount = tryMount("-t", "tmpfs", "-o", "size=256m,mode=700", "tmpfs", dir);
  if (isMount) mounted.push(dir);
  else if (process.getuid?.() === 0) {
    throw new Error("this test needs a read-only folder: mounting is refused here, and permissions do not bind root");
  }
  const dataDir = join(dir, "data");
  mkdirSync(dataDir);
  const set = (write: boolean) => {
    if (isMount) execFileSync("mount", ["-o", `remount,${write ? "rw" : "ro"}`, dir]);
    else permit(dataDir, write);
  };
  return { dataDir, lock: () => set(false), unlock: () => set(true) };
};
