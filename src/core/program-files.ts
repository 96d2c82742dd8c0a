// Finds files that belong to the program: its manifest, SQL, pages, and programs that run in a process of their own.
// The sources, the build and the bundle place them alike below one folder.
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const findRoot = (): URL => {
  for (let folder = new URL("./", import.meta.url); ; folder = new URL("../", folder)) {
    if (existsSync(new URL("package.json", folder))) return folder;
    // The highest folder is its own parent: `/`, or the one of a drive.
    if (new URL("../", folder).href === folder.href) throw new TypeError(`no package.json above ${import.meta.url}`);
  }
};

const root = findRoot();

/** True in the sources, which run through a TypeScript loader; false in the build. */
export const isFromSources = import.meta.url.endsWith(".ts");

/** Address of a file or, with a `/` at the end, a folder of the program; e.g. `sql/views/`. */
export const programFile = (path: string): URL => new URL(path, root);

/** Content of a file of the program. */
export const readProgram = (file: URL): Buffer => readFileSync(file);

/** Paths of all files and folders below a folder of the program. */
export const listProgram = (folder: URL): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => name.replaceAll("\\", "/"));

/** Arguments of Node that run one of the program's modules in a process of its own. `path`: without its ending. */
export const childProgram = (path: string): readonly string[] => {
  const file = fileURLToPath(programFile(`${path}${isFromSources ? ".ts" : ".js"}`));
  return isFromSources ? ["--import", import.meta.resolve("tsx"), file] : [file];
};

const newestSource = (): number => {
  const sources = fileURLToPath(programFile("src"));
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  return Math.max(...files.map((file) => statSync(join(sources, file)).mtimeMs));
};

/** What a program from the sources imports as a package, because it holds native code. */
const NATIVE = ["@duckdb/node-bindings", "koffi"];
const bundled = new Map<string, URL>();

const bundle = (path: string, folder: URL): URL => {
  const file = new URL(`${path.replaceAll("/", "-")}.mjs`, folder);
  const made = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (made > newestSource()) return file;
  const half = `${fileURLToPath(file)}.${randomUUID()}`;
  const bundler = fileURLToPath(programFile("node_modules/rolldown/bin/cli.mjs"));
  const native = NATIVE.flatMap((name) => ["--external", name]);
  const argv = [bundler, fileURLToPath(programFile(`${path}.ts`)), "--file", half, "--platform", "node", ...native];
  execFileSync("node", argv, { stdio: "ignore" });
  // Another process may read or write the same file.
  renameSync(half, file);
  return file;
};

/**
 * One of the program's modules as plain JavaScript, for a process that may start no compiler, and the folder of its modules. From the
 * sources it is bundled when they have changed.
 */
export const plainProgram = (path: string): { readonly file: string; readonly folder: string } => {
  if (!isFromSources) return { file: fileURLToPath(programFile(`${path}.js`)), folder: fileURLToPath(root) };
  const folder = programFile("node_modules/.cache/duckmirror-programs/");
  const file = bundled.get(path) ?? bundle(path, folder);
  bundled.set(path, file);
  return { file: fileURLToPath(file), folder: fileURLToPath(folder) };
};

interface Manifest {
  readonly version?: string;
  readonly homepage?: string;
}
const manifest = (): Manifest => JSON.parse(readFileSync(programFile("package.json"), "utf8"));

/** The program's version, from its manifest. */
export const packageVersion = (): string => String(manifest().version ?? "?");

/**
 * Address of what the documents say about an error: on the site that package.json names as `homepage`, else in the file that came with
 * the program; null: neither is there.
 */
export const errorAddress = (code: string, { homepage } = manifest()): string | null => {
  const place = `ERRORS${homepage === undefined ? ".md" : ""}#${code.toLowerCase()}`;
  if (homepage !== undefined) return `${homepage.replace(/\/$/, "")}/${place}`;
  const file = programFile(`${isFromSources ? "" : "../"}docs/ERRORS.md`);
  return existsSync(file) ? new URL(place, file).href : null;
};
