// What the file tree and the imports must look like, as a checker over file texts. Pure, so that it can be tested.
import { posix } from "node:path";
import { LONG_FUNCTIONS } from "./long-functions.ts";
import { isRelative, type Parsed, packageOf, parse, resolveFrom, type SourceFile } from "./parsed-source.ts";

/** Layer → layers it may import. Neighbours are absent from each other's list. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  // Sends traces; the makers of spans know only the port in core.
  telemetry: ["core"],
  catalog: ["core"],
  api: ["catalog", "core"],
  budget: ["catalog", "core"],
  warehouse: ["catalog", "core"],
  replica: ["warehouse", "catalog", "core"],
  sync: ["api", "budget", "warehouse", "catalog", "core"],
  // Hands the snapshot on; knows nothing of how it was fetched.
  deliver: ["warehouse", "catalog", "core"],
  // Sends what changed, or how the mirror is doing, to webhooks.
  alerts: ["warehouse", "catalog", "core"],
  jobs: ["alerts", "deliver", "sync", "api", "budget", "warehouse", "catalog", "core"],
  // The service that duckmirror is tried against shares no code with what reads it.
  sandbox: ["replica", "warehouse", "catalog", "core"],
  server: ["jobs", "alerts", "deliver", "sync", "api", "budget", "warehouse", "replica", "catalog", "core"],
  queue: ["jobs", "alerts", "deliver", "sync", "api", "budget", "warehouse", "catalog", "core"],
  // What assistants use; the command line starts it.
  mcp: ["sync", "api", "warehouse", "catalog", "core"],
  // What programs import; beside the command line, not above it.
  library: ["jobs", "alerts", "deliver", "sync", "api", "budget", "warehouse", "catalog", "core"],
  cli: [
    "mcp",
    "server",
    "queue",
    "sandbox",
    "jobs",
    "alerts",
    "deliver",
    "sync",
    "api",
    "budget",
    "warehouse",
    "replica",
    "catalog",
    "telemetry",
    "core",
  ],
};

/** Files directly in a folder, beside its folders. */
const ITS_FILES = "";

/** Inside a folder of several folders: folder → folders it may import, the highest first. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  "src/sync": ["verify", "lookup", "run", "recovery", "plan", "request", "list", "rows"],
  "src/sync/run": [ITS_FILES, "reconcile", "state"],
  "src/sync/list": [ITS_FILES, "parts", "ways", "coverage"],
  "src/sync/plan": ["forecast", ITS_FILES],
  "src/queue": [
    "worker",
    "dead-letters",
    "syncs",
    "verifications",
    "deliveries",
    "alerts",
    "schedules",
    "fleet",
    "redis",
    "requests",
  ],
  "src/warehouse": [
    "forget",
    "export",
    "file",
    "read",
    "user-sql",
    "generated",
    "load",
    "journal",
    "archive",
    "audit",
    "record",
    "duckdb",
  ],
  "src/warehouse/file": [ITS_FILES, "upkeep", "baseline", "checks", "publish"],
  "src/warehouse/read": ["search", "changes", ITS_FILES],
  "src/warehouse/duckdb": ["extended", ITS_FILES],
};

/** Files that start, or are, a process of their own, and so touch `process`. */
const PROGRAMS = [
  "src/warehouse/user-sql/sql-process.ts",
  "src/warehouse/user-sql/process-limits.ts",
  "src/warehouse/user-sql/fence/launcher.ts",
  "src/warehouse/user-sql/fence/proof.ts",
  "src/warehouse/user-sql/program.ts",
  "src/warehouse/duckdb/extended/extended-duckdb.ts",
  "src/warehouse/duckdb/extended/program.ts",
];

/** Type-only imports allowed between neighbours: importing layer → file. */
const SHARED_TYPES: readonly (readonly [layer: string, file: string])[] = [["budget", "src/api/outcome.ts"]];

/** Library → layers that may import it. Others (zod, node:*) may be used anywhere. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  undici: ["alerts", "api"],
  "@duckdb/node-api": ["warehouse"],
  "@aws-sdk/client-s3": ["deliver"],
  "@aws-sdk/lib-storage": ["deliver"],
  "@azure/identity": ["deliver"],
  "@azure/storage-blob": ["deliver"],
  "duckdb-with-extensions": ["warehouse"],
  pg: ["deliver"],
  "pg-copy-streams": ["deliver"],
  bullmq: ["queue"],
  ioredis: ["budget", "queue"],
  fastify: ["server", "sandbox"],
  "prom-client": ["server"],
  "@opentelemetry/api": ["telemetry"],
  "@opentelemetry/core": ["telemetry"],
  "@opentelemetry/resources": ["telemetry"],
  "@opentelemetry/sdk-trace-base": ["telemetry"],
  "@opentelemetry/exporter-trace-otlp-http": ["telemetry"],
  "@opentelemetry/exporter-trace-otlp-proto": ["telemetry"],
  "node-cron": ["queue", "cli"],
  pino: ["core"],
  yaml: ["core", "cli"],
  commander: ["cli"],
  picocolors: ["core", "cli"],
  "get-east-asian-width": ["cli"],
};

const MOST_LINES = 450;
const MOST_FILES = 14;
const MOST_FUNCTION_LINES = 65;
/** Where lists are read, what a function decides must fit in a reader's mind. */
const MOST_BRANCHES = 15;
/** What defines, begins and dispatches a run. */
const TAKE_WHOLE_RUNS = ["state/run-state", "begin-run", "dispatcher"].map((name) => `src/sync/run/${name}.ts`);
/** One file per job. */
const FLAT_FOLDERS = ["jobs"];
/** Pure tables, which are better long than split. */
const LONG_TABLES = ["src/catalog/resources.ts", "src/catalog/streams.ts", "src/core/errors.ts"];
/** The one parser of times; and code that runs in a browser, where times are shown as people there know them. */
const READS_DATES = /^src\/(core\/time\.ts$|server\/page\/)/;
/** Words that hide who does what (docs/GLOSSARY.md, CONTRIBUTING.md): "tells" may mean reports, shows or decides. */
const HIDING_WORDS = /\b(whoever|stands|stood|tells|told|goes over|takes no place|so many)\b/i;
const COMMENT = /(?:^|\s)(?:\/\/|\/?\*+)\s(.*)$/;
const VAGUE_NAMES = /^(utils?|helpers?|common|misc)$/;

/** `src/api/client.ts` → api, `jobs/sync.ts` → jobs; null outside the layers. */
const layerOf = (path: string): string | null => {
  const [first, second] = path.split("/");
  if (first === "jobs") return "jobs";
  return first === "src" && second !== undefined && Object.hasOwn(LAYERS, second) ? second : null;
};

const arrowProblems = (file: Parsed): string[] => {
  const layer = layerOf(file.path);
  if (layer === null) return file.path.startsWith("src/") ? [`${file.path}: src/ has no such layer`] : [];
  return file.imports.flatMap(({ specifier, typeOnly }) => {
    if (!isRelative(specifier)) {
      const homes = HOMES[packageOf(specifier)];
      return homes === undefined || homes.includes(layer) ? [] : [`${file.path}: ${specifier} belongs in ${homes}`];
    }
    const target = resolveFrom(file.path, specifier);
    const other = layerOf(target);
    const shared = typeOnly && SHARED_TYPES.some(([by, what]) => by === layer && what === target);
    if (other === layer || shared || (other !== null && LAYERS[layer]?.includes(other))) return [];
    return [`${file.path}: ${layer} must not import ${target}`];
  });
};

/** `src/sync/plan/due.ts` seen from `src/sync` is in `plan`, seen from `src/sync/plan` among its files; null: elsewhere. */
const folderWithin = (above: string, path: string): string | null => {
  if (!path.startsWith(`${above}/`)) return null;
  const [folder = ITS_FILES, ...rest] = path.slice(above.length + 1).split("/");
  return rest.length === 0 ? ITS_FILES : folder;
};

const folderProblems = (file: Parsed): string[] =>
  Object.entries(FOLDERS).flatMap(([above, order]) => {
    const from = folderWithin(above, file.path);
    if (from === null) return [];
    if (!order.includes(from)) return [`${file.path}: ${above} has no such folder`];
    return file.imports.flatMap(({ specifier }) => {
      const target = isRelative(specifier) ? resolveFrom(file.path, specifier) : "";
      const to = folderWithin(above, target);
      if (to === null || order.indexOf(to) >= order.indexOf(from)) return [];
      return [`${file.path}: ${from || `the files of ${above}`} must not import ${target}`];
    });
  });

const globalProblems = (file: Parsed): string[] => {
  if (layerOf(file.path) === null || layerOf(file.path) === "cli" || PROGRAMS.includes(file.path)) return [];
  const imported = file.imports.filter(({ specifier }) => /^(node:)?(process|console)$/.test(specifier));
  const names = [...file.globals, ...imported.map(({ specifier }) => specifier)];
  return [...new Set(names)].map((name) => `${file.path}: only src/cli touches ${name}`);
};

/** `Date.parse` takes a time without a zone for the machine's own time: what it says depends on where it runs. */
const timeProblems = ({ path, datesRead }: Parsed): string[] =>
  layerOf(path) === null || READS_DATES.test(path)
    ? []
    : datesRead.map((code) => `${path}: ${code}: times are read by src/core/time.ts`);

const nameProblems = ({ path, text }: Parsed): string[] => {
  const name = posix.basename(path).replace(/(\.test)?\.m?ts$/, "");
  const lines = text.trimEnd().split("\n").length;
  return [
    ...(name === "index" ? [`${path}: no index.ts barrels`] : []),
    ...(VAGUE_NAMES.test(name) ? [`${path}: a name that says nothing`] : []),
    ...(layerOf(path) !== null && lines > MOST_LINES && !LONG_TABLES.includes(path) ? [`${path}: ${lines} lines`] : []),
    ...(layerOf(path) !== null && !/^(#!.*\n)?(\/\/|\/\*)/.test(text) ? [`${path}: does not say what it is`] : []),
  ];
};

const functionProblems = ({ path, functions }: Parsed): string[] =>
  functions.flatMap(({ name, lines }) =>
    layerOf(path) === null || lines <= MOST_FUNCTION_LINES || LONG_FUNCTIONS.includes(`${path} ${name}`)
      ? []
      : [`${path}: ${name} has ${lines} lines: cut it by meaning`],
  );

const branchProblems = ({ path, functions }: Parsed): string[] =>
  functions.flatMap(({ name, branches }) =>
    layerOf(path) !== "sync" || branches <= MOST_BRANCHES
      ? []
      : [`${path}: ${name} has ${branches} branches: cut it by meaning`],
  );

const wordProblems = ({ path, text }: Parsed): string[] =>
  layerOf(path) === null
    ? []
    : text.split("\n").flatMap((line, index) => {
        const word = HIDING_WORDS.exec(COMMENT.exec(line)?.[1] ?? "")?.[0];
        return word === undefined ? [] : [`${path}:${index + 1}: "${word}" hides who does what: name actor and action`];
      });

/** A run has parts (src/sync/run/state/run-state.ts). Each has one owner, and few files take all of them. */
const runProblems = ({ path, text, openFields }: Parsed): string[] => {
  if (!path.startsWith("src/sync/run/")) return [];
  const takesAll = /\bSyncRun\b/.test(text) && !TAKE_WHOLE_RUNS.includes(path);
  return [
    ...(takesAll ? [`${path}: takes a run whole: name the parts that it uses`] : []),
    ...openFields.map((name) => `${path}: others can change ${name}: only its owner may`),
  ];
};

/** A folder with too many files side by side holds several things that need names of their own. */
const crowdProblems = (paths: readonly string[]): string[] => {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const folder = posix.dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts].flatMap(([folder, count]) =>
    count > MOST_FILES && !FLAT_FOLDERS.includes(folder) ? [`${folder}: ${count} files side by side`] : [],
  );
};

const cycleProblems = (files: ReadonlyMap<string, Parsed>): string[] => {
  const done = new Set<string>();
  const problems: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at !== -1) {
      problems.push(`import cycle: ${[...trail.slice(at), path].join(" -> ")}`);
      return;
    }
    const file = files.get(path);
    if (file === undefined || done.has(path)) return;
    for (const { specifier } of file.imports) {
      if (isRelative(specifier)) visit(resolveFrom(path, specifier), [...trail, path]);
    }
    done.add(path);
  };
  for (const path of files.keys()) visit(path, []);
  return problems;
};

/** Everything that is wrong, one sentence each; empty when the tree is as it should be. */
export const architectureProblems = (sources: readonly SourceFile[]): readonly string[] => {
  const files = sources.map(parse);
  const layered = new Map(files.filter(({ path }) => layerOf(path) !== null).map((file) => [file.path, file]));
  return [
    ...files.flatMap((file) => [
      ...arrowProblems(file),
      ...folderProblems(file),
      ...globalProblems(file),
      ...timeProblems(file),
      ...nameProblems(file),
      ...wordProblems(file),
      ...functionProblems(file),
      ...branchProblems(file),
      ...runProblems(file),
    ]),
    ...crowdProblems([...layered.keys()]),
    ...cycleProblems(layered),
  ];
};

/** Packages (node: aside) that are loaded when `entry` starts: by values, not types, and not by import(). */
export const packagesAtStart = (entry: string, sources: readonly SourceFile[]): ReadonlySet<string> => {
  const files = new Map(sources.map((source) => [source.path, source]));
  const packages = new Set<string>();
  const seen = new Set<string>();
  const visit = (path: string): void => {
    const file = files.get(path);
    if (file === undefined || seen.has(path)) return;
    seen.add(path);
    for (const { specifier, typeOnly, lazy } of parse(file).imports) {
      if (typeOnly || lazy || specifier.startsWith("node:")) continue;
      if (isRelative(specifier)) visit(resolveFrom(path, specifier));
      else packages.add(packageOf(specifier));
    }
  };
  visit(entry);
  return packages;
};
