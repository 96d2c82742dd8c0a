// Debian's packages of other programs, installed as root. One process at a time: apt-get refuses a second one.
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programOnPath } from "./program-on-path.ts";

const apt = (args: readonly string[], cwd = tmpdir()): void => {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  // Test runs wait for each other at this file; for anybody else apt-get waits itself.
  const lock = join(tmpdir(), "duckmirror-apt.lock");
  execFileSync("flock", [lock, "apt-get", "-o", "DPkg::Lock::Timeout=300", "-qq", ...args], {
    cwd,
    env,
    stdio: "pipe",
  });
};

/** Installs packages. Throws `wanted`, a sentence without its period, where that is not possible. */
export const installDebian = (wanted: string, ...packages: readonly string[]): void => {
  if (process.getuid?.() !== 0 || programOnPath("apt-get") === null) throw new Error(`${wanted}.`);
  apt(["update"]);
  apt(["install", "-y", "--no-install-recommends", ...packages]);
};

/** Brings a package's file to a folder without installing it. */
export const downloadDebian = (name: string, folder: string): void => {
  try {
    apt(["download", name], folder);
  } catch {
    // Without a list of packages there is none to download.
    apt(["update"]);
    apt(["download", name], folder);
  }
};
