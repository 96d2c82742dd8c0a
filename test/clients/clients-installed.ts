// Global setup: every client is installed and a young mirror with its export lies ready before the first test. Packages
// are kept in a cache under the hash of what was asked for, so a second run installs nothing. What is missing on this
// machine fails the run with what to do: nothing is skipped.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { downloadDebian } from "../support/debian-packages.ts";
import { programOnPath } from "../support/program-on-path.ts";
import { runWell } from "./programs.ts";
import { kept, PIP_QUIET, pythonVenv } from "./python-venv.ts";

const here = import.meta.dirname;
/**
 * DuckDB for Python: the first that opens our snapshots, two in wide use, and the newest (its own is in
 * requirements.txt).
 */
export const DUCKDB_VERSIONS = ["1.2.2", "1.4.5", "1.5.6", "2.0.0"] as const;
/** The lowest version of Node that package.json allows, and the newer lines. */
export const NODE_VERSIONS = ["20.18.1", "22.23.3", "24.21.0", "26.10.0"] as const;
/** Too old for duckmirror. */
export const OLD_NODE = "18.20.8";

const installPython = (): Promise<string> => pythonVenv("python", join(here, "requirements.txt"));

const installScanner = async (): Promise<string> =>
  join(await pythonVenv("scanner", join(here, "requirements-scan.txt")), "bin/schemathesis");

const installDuckdb = (venv: string, version: string): Promise<string> =>
  kept(`duckdb-${version}`, `${venv} ${version}`, (folder) =>
    runWell(join(venv, "bin/pip"), ["install", ...PIP_QUIET, "--no-deps", "--target", folder, `duckdb==${version}`]),
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
    downloadDebian("prometheus", target);
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
  for (const version of [...NODE_VERSIONS, OLD_NODE]) nodes[version] = await installNode(version);
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
