// Files that belong to the program: its manifest, SQL, pages, and programs that run in a process of their own. The sources, the build and
// the bundle lay them out alike below one folder, wherever the code that asks for them was put.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const findRoot = (): URL => {
  for (let folder = new URL("./", import.meta.url); ; folder = new URL("../", folder)) {
    if (existsSync(new URL("package.json", folder))) return folder;
    if (folder.pathname === "/") throw new TypeError(`no package.json above ${import.meta.url}`);
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

/** The program's version, from its manifest. */
export const packageVersion = (): string => {
  const manifest: unknown = JSON.parse(readFileSync(programFile("package.json"), "utf8"));
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "?";
};
