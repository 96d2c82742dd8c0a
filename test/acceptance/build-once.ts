// Global setup of the acceptance tests: the program as users run it, built before the first test file, never during one.
// A build is kept under the hash of its sources, so that it is made once and no other build can pull it away. Types are not
// checked: `npm run check` does.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

const root = fileURLToPath(new URL("../../", import.meta.url));
/** Inside node_modules, so that the built files find their packages. */
const builds = join(root, "node_modules", ".cache", "duckmirror-builds");
const SOURCES = ["build.mjs", "package.json", "tsconfig.json", "tsconfig.build.json", "src", "jobs", "bench", "sql"];
/** Longer than any run of tests that uses a build. */
const STALE_MS = 12 * 3_600_000;

const filesOf = (path: string): readonly string[] =>
  statSync(join(root, path)).isDirectory()
    ? readdirSync(join(root, path))
        .sort()
        .flatMap((name) => filesOf(join(path, name)))
    : [path];

const hashOfSources = (): string => {
  const hash = createHash("sha256");
  for (const file of SOURCES.flatMap(filesOf)) hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest("hex").slice(0, 16);
};

const removeStale = (current: string): void => {
  for (const name of readdirSync(builds)) {
    const old = Date.now() - statSync(join(builds, name)).mtimeMs > STALE_MS;
    if (name !== current && old) rmSync(join(builds, name), { recursive: true, force: true });
  }
};

const build = (): string => {
  const name = hashOfSources();
  const folder = join(builds, name);
  mkdirSync(builds, { recursive: true });
  removeStale(name);
  if (existsSync(folder)) return folder;
  const half = `${folder}.${process.pid}`;
  execFileSync(process.execPath, [join(root, "build.mjs"), half, "--unchecked"], { stdio: "inherit" });
  try {
    renameSync(half, folder);
  } catch (error) {
    // Another run finished the same build meanwhile.
    rmSync(half, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
};

declare module "vitest" {
  interface ProvidedContext {
    /** Path of the built command line. */
    readonly builtCli: string;
  }
}

export default (project: TestProject): void => {
  project.provide("builtCli", join(build(), "src/cli/main.js"));
};
