// Program that starts the process of a user's SQL: limits itself, gives up rights by Landlock and seccomp, and then becomes Node with that
// program (exec). Rights given up later would leave out threads that Node has started already. Arguments: limits, what may be read, and the
// program, as JSON (`Launch`). Ends with code 78 and one line of text if it cannot fence itself.
import { closeSync, constants, fstatSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import {
  become,
  type FileRule,
  keepStandardFiles,
  landlockVersion,
  limitResources,
  RIGHTS,
  renounceRights,
  restrictCalls,
  restrictFiles,
} from "./kernel.ts";
import { type Architecture, filterFor } from "./syscalls.ts";

export interface Launch {
  readonly limits: Parameters<typeof limitResources>[0];
  /** Files and folders that the program reads; null: it gets no fence. */
  readonly readable: readonly string[] | null;
  /** Arguments of Node. */
  readonly argv: readonly string[];
}

/** Opens a file for its name only. */
const O_PATH = 0x200000;
const { execute, write, readFile, readFolder } = RIGHTS;

/** The rule for a path; null: there is no such file, so nothing is granted. */
const ruleFor = (path: string, rights: number): FileRule | null => {
  try {
    const fd = openSync(path, O_PATH | constants.O_RDONLY);
    return { fd, rights: fstatSync(fd).isDirectory() ? rights : rights & ~readFolder };
  } catch {
    return null;
  }
};

/** Folders of the system's libraries that this Node uses, and the loader that starts it. */
const systemLibraries = () => {
  const mapped = readFileSync("/proc/self/maps", "utf8").matchAll(/ (\/\S*\.so[.\d]*)$/gm);
  const files = [...new Set([...mapped].map(([, file = ""]) => file))];
  const loaders = files.filter((file) => /\/ld-[^/]+$/.test(file));
  return { folders: [...new Set(files.map((file) => dirname(file)))], loaders };
};

/** Folders of DuckDB's library and of what chooses it. */
const duckdbFolders = (): readonly string[] => {
  const here = createRequire(import.meta.url);
  const bindings = here.resolve("@duckdb/node-bindings");
  const beside = createRequire(bindings);
  const found = [`@duckdb/node-bindings-linux-${process.arch}`, `@duckdb/node-bindings-linux-${process.arch}-musl`];
  const folders = [...found.map((name) => `${name}/package.json`), "detect-libc"].flatMap((name) => {
    try {
      return [beside.resolve(name)];
    } catch {
      return [];
    }
  });
  return [bindings, ...folders]
    .map((file) => dirname(file))
    .map((folder) => folder.replace(/\/detect-libc\/lib$/, "/detect-libc"));
};

const architecture = (): Architecture => {
  if (process.arch === "x64" || process.arch === "arm64") return process.arch;
  throw new TypeError(`no table of system calls for ${process.arch}`);
};

/** Where memory is short, the kernel ends this process first. */
const endFirst = (): void => {
  try {
    writeFileSync("/proc/self/oom_score_adj", "1000");
  } catch {
    // A container may forbid it.
  }
};

const fence = (readable: readonly string[]): void => {
  const version = landlockVersion();
  const { folders, loaders } = systemLibraries();
  const wanted: readonly (readonly [string, number])[] = [
    ...[process.execPath, ...loaders].map((file) => [file, execute | readFile] as const),
    // DuckDB ends the process where it cannot read how much memory its group may use.
    ...[...folders, "/etc/ld.so.cache", "/proc/self/cgroup", "/sys/fs/cgroup"].map((path) => [path, readFile] as const),
    ...[...readable, ...duckdbFolders()].map((path) => [path, readFile | readFolder] as const),
    ["/dev/null", readFile | write],
  ];
  const rules = wanted.flatMap(([path, rights]) => ruleFor(path, rights) ?? []);
  renounceRights();
  keepStandardFiles();
  restrictFiles(version, rules);
  for (const { fd } of rules) closeSync(fd);
  restrictCalls(filterFor(architecture(), process.pid));
};

const launch = ({ limits, readable, argv }: Launch): never => {
  endFirst();
  limitResources(limits);
  if (readable === null) keepStandardFiles();
  else fence(readable);
  // OpenSSL would look for its settings; the time zone of the machine is another file.
  return become(process.execPath, [process.execPath, ...argv], ["OPENSSL_CONF=/dev/null", "TZ=UTC"]);
};

try {
  launch(JSON.parse(process.argv[2] ?? ""));
} catch (error) {
  process.stderr.write(error instanceof Error ? error.message : String(error));
  process.exitCode = 78;
}
