// Global setup: every client is installed and a young mirror with its export lies ready before the first test. Packages
// are kept in a cache under the hash of what was asked for, so a second run installs nothing. What is missing on this
// machine fails the run with what to do: nothing is skipped.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { programOnPath } from "../support/redis-binary.ts";
import { runWell } from "./programs.ts";

const here = import.meta.dirname;
/** DuckDB for Python: the first that opens our snapshots, two in wide use, and the newest (its own is in requirements.txt). */
export const DUCKDB_VERSIONS = ["1.2.2", "1.4.5", "1.5.6", "2.0.0"] as const;
/** The lowest version of Node that package.json allows, and two newer lines. */
export const NODE_VERSIONS = ["20.18.1", "22.23.3", "24.21.0"] as const;

const cacheRoot = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "duckmirror-clients");

/** Makes a folder once: `fill` runs where it is not complete yet. */
const kept = async (name: string, of: string, fill: (folder: string) => Promise<unknown>): Promise<string> => {
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
  const wanted = "The tests of real clients need Python 3.10 or newer with venv: install python3-venv";
  if (process.getuid?.() !== 0 || programOnPath("apt-get") === null) throw new Error(`${wanted}.`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  await runWell("apt-get", ["update", "-qq"], { env });
  await runWell("apt-get", ["install", "-y", "-qq", "python3-venv"], { env });
  const installed = await works();
  if (installed === null) throw new Error(`${wanted}; Debian's package is older.`);
  return installed;
};

const QUIET = ["-q", "--disable-pip-version-check", "--no-input"];

const installPython = async (): Promise<string> => {
  const requirements = join(here, "requirements.txt");
  const base = await python();
  return kept("python", `${base} ${readFileSync(requirements, "utf8")}`, async (folder) => {
    await runWell(base, ["-m", "venv", folder]);
    await runWell(join(folder, "bin/pip"), ["install", ...QUIET, "-r", requirements]);
  });
};

const installScanner = async (): Promise<string> => {
  const requirements = join(here, "requirements-scan.txt");
  const base = await python();
  const folder = await kept("scanner", `${base} ${readFileSync(requirements, "utf8")}`, async (target) => {
    await runWell(base, ["-m", "venv", target]);
    await runWell(join(target, "bin/pip"), ["install", ...QUIET, "-r", requirements]);
  });
  return join(folder, "bin/schemathesis");
};

const installDuckdb = (venv: string, version: string): Promise<string> =>
  kept(`duckdb-${version}`, `${venv} ${version}`, (folder) =>
    runWell(join(venv, "bin/pip"), ["install", ...QUIET, "--no-deps", "--target", folder, `duckdb==${version}`]),
  );

const npmCli = (): string => {
  const npm = programOnPath("npm");
  if (npm === null) throw new Error("The tests of real clients need npm on the PATH.");
  return npm;
};

const installNode = async (version: string): Promise<string> => {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = await kept(`node-${version}`, name, (target) =>
    runWell(npmCli(), ["install", "--no-audit", "--no-fund", "--prefix", target, `${name}@${version}`]),
  );
  return join(folder, "node_modules", name, "bin");
};

/** Prometheus's own checker: from the PATH, else out of Debian's package, which is not installed. */
const promtool = async (): Promise<string> => {
  const found = programOnPath("promtool");
  if (found !== null) return found;
  if (programOnPath("apt-get") === null || programOnPath("dpkg-deb") === null) {
    throw new Error("The tests of real clients need promtool on the PATH, or Debian, whose package prometheus has it.");
  }
  const folder = await kept("promtool", "Debian's prometheus", async (target) => {
    const download = () => runWell("apt-get", ["download", "-qq", "prometheus"], { cwd: target });
    // Without a list of packages there is none to download.
    await download().catch(async () => {
      await runWell("apt-get", ["update", "-qq"]);
      await download();
    });
    const file = readdirSync(target).find((name) => name.endsWith(".deb"));
    if (file === undefined) throw new Error("apt-get downloaded no package prometheus");
    await runWell("dpkg-deb", ["--extract", join(target, file), target]);
  });
  return join(folder, "usr/bin/promtool");
};

/** A mirror after its first sync (no history yet), with everything exported as Parquet. */
const makeMirror = async (cli: string, folder: string): Promise<string> => {
  const dataDir = join(folder, "data");
  const at = { cwd: folder };
  await runWell(process.execPath, [cli, "demo", "--accounts", "12", "--quiet", "--json", "--data-dir", dataDir], at);
  await runWell(process.execPath, [cli, "export", "--tables", "main,marts,history,sync", "--data-dir", dataDir], at);
  return dataDir;
};

declare module "vitest" {
  interface ProvidedContext {
    /** Folder of the virtual environment. */
    readonly venv: string;
    /** Path of schemathesis. */
    readonly scanner: string;
    /** DuckDB version → folder for PYTHONPATH. */
    readonly duckdbs: Readonly<Record<string, string>>;
    /** Node version → folder of its program. */
    readonly nodes: Readonly<Record<string, string>>;
    /** Path of Prometheus's checker. */
    readonly promtool: string;
    /** Data directory of a young mirror with its export. */
    readonly mirror: string;
  }
}

export default async (project: TestProject): Promise<() => void> => {
  const venv = await installPython();
  const duckdbs: Record<string, string> = {};
  for (const version of DUCKDB_VERSIONS) duckdbs[version] = await installDuckdb(venv, version);
  const nodes: Record<string, string> = {};
  for (const version of NODE_VERSIONS) nodes[version] = await installNode(version);
  const folder = mkdtempSync(join(tmpdir(), "duckmirror-clients-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  const { builtCli } = project.getProvidedContext();
  project.provide("venv", venv);
  project.provide("scanner", await installScanner());
  project.provide("duckdbs", duckdbs);
  project.provide("nodes", nodes);
  project.provide("promtool", await promtool());
  project.provide("mirror", await makeMirror(builtCli, folder));
  return remove;
};
