// The peers' Python: one virtual environment each, made from the pinned requirements when it is missing. Never a
// dependency of the project, and outside what the repository holds.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Package root: two folders up in the build. */
const root = fileURLToPath(new URL("../../", import.meta.url));

/** Folder of the peers' programs and settings. */
export const PEERS_DIR = join(root, "bench/peers");
const CACHE = join(root, "node_modules/.cache/peers");

export type EnvironmentName = "dlt" | "tap" | "target" | "script";
const NAMES: readonly EnvironmentName[] = ["dlt", "tap", "target", "script"];

/** Folder of each environment; its Python is `bin/python` inside. */
export type Environments = Readonly<Record<EnvironmentName, string>>;

const INSTALL_MS = 600_000;

/** What went wrong, null when nothing did. */
const run = (command: string, args: readonly string[]): string | null => {
  const { error, status, stderr } = spawnSync(command, args, { encoding: "utf8", timeout: INSTALL_MS });
  if (error !== undefined) return error.message;
  return status === 0 ? null : (stderr.trim().split("\n").at(-1) ?? `exit code ${status}`);
};

const install = (name: EnvironmentName): string | null => {
  const dir = join(CACHE, name);
  const requirements = join(PEERS_DIR, `requirements-${name}.txt`);
  const wanted = createHash("sha256").update(readFileSync(requirements)).digest("hex");
  const mark = join(dir, "installed");
  if (existsSync(mark) && readFileSync(mark, "utf8") === wanted) return null;
  process.stderr.write(`peers: installing ${name} …\n`);
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(CACHE, { recursive: true });
  const problem =
    run("python3", ["-m", "venv", dir]) ??
    run(join(dir, "bin/python"), ["-m", "pip", "install", "--quiet", "--no-deps", "--requirement", requirements]);
  if (problem === null) writeFileSync(mark, wanted);
  return problem;
};

/** The environments, or in one sentence why there are none. */
export const peerEnvironments = (): Environments | string => {
  const version = run("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]);
  if (version !== null) return "no Python 3.10 or later";
  for (const name of NAMES) {
    const problem = install(name);
    if (problem !== null) return `the Python packages of ${name} could not be installed: ${problem}`;
  }
  return {
    dlt: join(CACHE, "dlt"),
    tap: join(CACHE, "tap"),
    target: join(CACHE, "target"),
    script: join(CACHE, "script"),
  };
};
