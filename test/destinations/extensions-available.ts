// Global setup: extensions of DuckDB 1.5.5, as files in a cache folder. They come from PyPI, as docs/DESTINATIONS.md says for
// machines without internet. What cannot be had fails the run and says what to install.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { runWell } from "../clients/programs.ts";
import { programOnPath } from "../support/program-on-path.ts";

const NAMES = ["ducklake", "sqlite_scanner", "postgres_scanner", "httpfs", "azure"] as const;
const VERSION = "1.5.5";

const UNZIP =
  "import sys, glob, zipfile; [zipfile.ZipFile(w).extractall(sys.argv[1]) for w in glob.glob(sys.argv[1] + '/*.whl')]";

const NEEDS_PYTHON =
  "The tests of lakes need python3 with pip, which fetches DuckDB's extensions: install python3-pip.";

const download = async (name: string, folder: string, python: string): Promise<void> => {
  const file = join(folder, `${name}.duckdb_extension`);
  if (existsSync(file)) return;
  const work = mkdtempSync(join(folder, ".download-"));
  try {
    const wheel = `duckdb-extension-${name}==${VERSION}`;
    await runWell(python, ["-m", "pip", "download", "-q", "--no-deps", "--no-input", "-d", work, wheel]);
    await runWell(python, ["-c", UNZIP, work]);
    renameSync(join(work, `duckdb_extension_${name}`, "extensions", `v${VERSION}`, `${name}.duckdb_extension`), file);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
};

declare module "vitest" {
  interface ProvidedContext {
    /** Folder with files NAME.duckdb_extension. */
    readonly extensions: string;
  }
}

export default async (project: TestProject): Promise<void> => {
  const folder = join(
    process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"),
    "duckmirror-clients",
    `duckdb-${VERSION}-extensions`,
  );
  mkdirSync(folder, { recursive: true });
  const python = programOnPath("python3");
  for (const name of NAMES) {
    if (existsSync(join(folder, `${name}.duckdb_extension`))) continue;
    if (python === null) throw new Error(NEEDS_PYTHON);
    await download(name, folder, python);
  }
  project.provide("extensions", folder);
};
