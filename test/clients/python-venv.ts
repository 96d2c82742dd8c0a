// Python packages of tests, in virtual environments that are kept in a cache under the hash of what was asked for, so that a
// second run installs nothing. What is missing on this machine fails with what to do.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { installDebian } from "../support/debian-packages.ts";
import { programOnPath } from "../support/program-on-path.ts";
import { runWell } from "./programs.ts";

const cacheRoot = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "duckmirror-clients");

/** Makes a folder once: `fill` runs where it is not complete yet. */
export const kept = async (name: string, of: string, fill: (folder: string) => Promise<unknown>): Promise<string> => {
  const folder = join(cacheRoot, `${name}-${createHash("sha256").update(of).digest("hex").slice(0, 12)}`);
  const done = join(folder, ".complete");
  if (existsSync(done)) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await fill(folder);
  writeFileSync(done, "");
  return folder;
};

/** Python 3.10 or newer that can make a virtual environment; Debian's packages as root where there is none. */
const python = async (): Promise<string> => {
  const check = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";
  const works = async () => {
    const found = programOnPath("python3");
    return found !== null &&
      (await runWell(found, ["-c", check]).then(
        () => true,
        () => false,
      ))
      ? found
      : null;
  };
  const found = await works();
  if (found !== null) return found;
  const wanted = "These tests need Python 3.10 or newer with venv: install python3-venv";
  installDebian(wanted, "python3-venv");
  const installed = await works();
  if (installed === null) throw new Error(`${wanted}; Debian's package is older.`);
  return installed;
};

export const PIP_QUIET = ["-q", "--disable-pip-version-check", "--no-input"];

/** Folder of a virtual environment with the packages of a requirements file. */
export const pythonVenv = async (name: string, requirements: string): Promise<string> => {
  const base = await python();
  return kept(name, `${base} ${readFileSync(requirements, "utf8")}`, async (folder) => {
    await runWell(base, ["-m", "venv", folder]);
    await runWell(join(folder, "bin/pip"), ["install", ...PIP_QUIET, "-r", requirements]);
  });
};
