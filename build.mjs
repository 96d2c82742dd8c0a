// Build: `node build.mjs [FOLDER] [--unchecked] [--say]`. Writes to FOLDER (default: dist) the compiled TypeScript, the status page with its
// libraries, the SQL files at the same relative path, and the CLI and its child programs as bundles. `--unchecked` writes the same
// files without checking types, in less than half of the processor time, for tests (`npm run check` checks the types).
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const folder = process.argv.slice(2).find((argument) => !argument.startsWith("--"));
const out = folder === undefined ? at("dist") : resolve(folder);

if (!existsSync(at("node_modules/typescript-native"))) {
  process.stderr.write("The packages it is built with are not installed: run `npm ci` first.\n");
  process.exit(1);
}
if (process.argv.includes("--say")) process.stdout.write("Building the program (once, a few seconds) …\n");
rmSync(out, { recursive: true, force: true });
const types = process.argv.includes("--unchecked") ? ["--noCheck"] : [];
const tsc = [at("node_modules/typescript-native/bin/tsc"), "-p", at("tsconfig.build.json"), "--outDir", out, ...types];
execFileSync(process.execPath, tsc, { stdio: "inherit" });
// The page's own files, beside its modules (below).
const page = join(out, "src/server/page");
for (const name of readdirSync(at("src/server/page")).filter((file) => /\.(html|css|svg)$/.test(file))) {
  cpSync(join(at("src/server/page"), name), join(page, name));
}
// One style sheet holds the page's rules and those of its plots: each further file delays the first paint.
writeFileSync(
  join(page, "page.css"),
  ["node_modules/uplot/dist/uPlot.min.css", "src/server/page/page.css"]
    .map((name) => readFileSync(at(name), "utf8"))
    .join(""),
);
cpSync(at("sql"), join(out, "sql"), { recursive: true });
cpSync(at("src/sandbox/content/names.json"), join(out, "src/sandbox/content/names.json"));
cpSync(at("package.json"), join(out, "package.json"));

// New mirrors begin as a copy of this one (docs/decisions/publishing.md). Made by the sources, because the
// output may be in a folder without packages.
const newFile = new URL("src/warehouse/file/working-file.ts", import.meta.url);
const makeEmptyMirror = `const { makeEmptyMirror } = await import(${JSON.stringify(newFile)});
  await makeEmptyMirror(${JSON.stringify(join(out, "empty-mirror.duckdb"))});`;
const loader = ["--import", import.meta.resolve("tsx"), "--input-type=module"];
execFileSync(process.execPath, [...loader, "--eval", makeEmptyMirror], { stdio: "inherit" });

/**
 * Packages that stay outside of the bundles: DuckDB's library, which is no JavaScript, and those that a user installs for a part that needs
 * them (docs/decisions/packaging.md).
 */
const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(readFileSync(at("package.json"), "utf8"));
const OUTSIDE = [
  ...Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }),
  "duckdb-with-extensions",
];
const PACKAGES = at("node_modules/");
const packageOf = (id) => id.split("/", id.startsWith("@") ? 2 : 1).join("/");
/** The output may be in a folder below `node_modules` itself. */
const ownFolder = join(realpathSync(out), "/");
const isOwn = (file) => file.startsWith(ownFolder);
const isOutside = (id) =>
  /^[@a-z]/.test(id) && (isBuiltin(id) || OUTSIDE.includes(packageOf(id)) || id.startsWith("@koromix/"));

/**
 * The parts of undici that the program uses. Its index also loads fetch, WebSocket, caches and mocks, which took as long as all of the
 * program's own code.
 */
const partsOfUndici = {
  name: "parts-of-undici",
  resolveId: (id) => (id === "undici" ? "\0undici" : null),
  load(id) {
    if (id !== "\0undici") return null;
    const lib = (path) => JSON.stringify(join(PACKAGES, "undici/lib", path));
    return `import Agent from ${lib("dispatcher/agent.js")};
      import Dispatcher from ${lib("dispatcher/dispatcher.js")};
      import EnvHttpProxyAgent from ${lib("dispatcher/env-http-proxy-agent.js")};
      import Pool from ${lib("dispatcher/pool.js")};
      import api from ${lib("api/index.js")};
      import buildConnector from ${lib("core/connect.js")};
      import errors from ${lib("core/errors.js")};
      // As undici's index does.
      Object.assign(Dispatcher.prototype, api);
      export { Agent, buildConnector, EnvHttpProxyAgent, errors, Pool };`;
  },
};

/** Parts of packages that the program never calls, and what their callers get in place of them. */
const UNUSED = {
  // Schemas of fastify's routes and requests without a socket: routes have none, and tests run the sources.
  "@fastify/ajv-compiler": "module.exports = () => undefined;",
  "@fastify/fast-json-stringify-compiler": "module.exports = () => undefined;",
  "light-my-request": "module.exports = undefined;",
  // The server trusts no proxy's word about a client's address.
  "@fastify/proxy-addr": "module.exports = () => undefined;",
  // Pino's own files and threads: the program gives it a place to write to.
  "sonic-boom": "module.exports = class {};",
  "thread-stream": "module.exports = class {};",
  "on-exit-leak-free": "module.exports = {};",
  "atomic-sleep": "module.exports = () => undefined;",
  // ioredis prints commands, with passwords, if DEBUG is set.
  debug: "exports.default = () => Object.assign(() => undefined, { enabled: false });",
  // prom-client's summaries.
  tdigest: "module.exports = {};",
  // Node has its own.
  "node-abort-controller": "module.exports = { AbortController, AbortSignal };",
};
const withoutUnused = {
  name: "without-unused",
  resolveId: (id) => (Object.hasOwn(UNUSED, id) ? `\0unused:${id}.cjs` : null),
  load: (id) => (id.startsWith("\0unused:") ? UNUSED[id.slice("\0unused:".length, -".cjs".length)] : null),
};

/** The library, and programs that are started as a process: each becomes one file, with parts that are loaded when they are needed. */
const PROGRAMS = [
  "src/cli/main",
  "src/library/mirror",
  "src/warehouse/user-sql/program",
  "src/warehouse/user-sql/fence/launcher",
  "src/warehouse/duckdb/extended/program",
];
// Loaded only here: without the packages the message above is wanted.
const { rolldown } = await import("rolldown");
const bundle = await rolldown({
  input: Object.fromEntries(PROGRAMS.map((name) => [name, join(out, `${name}.js`)])),
  platform: "node",
  external: isOutside,
  // Modules, where a package has both forms: what nothing uses of them is left out.
  // Of msgpackr the form without a native part, which npm would not install.
  resolve: { mainFields: ["module", "main"], alias: { msgpackr: join(PACKAGES, "msgpackr/index.js") } },
  plugins: [partsOfUndici, withoutUnused],
});
const { output } = await bundle.write({
  dir: out,
  entryFileNames: "[name].js",
  chunkFileNames: "bundle/[name]-[hash].js",
  // Licences are in one file (below).
  comments: false,
});
await bundle.close();
// The page's modules with their libraries (docs/decisions/the-page.md). The editor and the plots are parts of their own.
const pageBundle = await rolldown({
  input: Object.fromEntries(
    ["main.tsx", "login.ts"].map((name) => [name.split(".")[0], at(`src/server/page/${name}`)]),
  ),
  platform: "browser",
});
const pageModules = await pageBundle.write({
  dir: page,
  entryFileNames: "[name].js",
  chunkFileNames: "[name]-[hash].js",
  minify: true,
  comments: false,
});
await pageBundle.close();
// The command line is in the bundle now; the benchmarks need the other modules.
for (const name of readdirSync(join(out, "src/cli")).filter((entry) => entry !== "main.js")) {
  rmSync(join(out, "src/cli", name), { recursive: true });
}
if (types.length === 0) {
  // The library's types in one file, with those of zod: its user installs no package for them.
  const [{ rollup }, { dts }] = await Promise.all([import("rollup"), import("rollup-plugin-dts")]);
  const file = join(out, "src/library/mirror.d.ts");
  const external = (id) => /^[@a-z]/.test(id) && packageOf(id) !== "zod";
  const declarations = await rollup({ input: file, external, plugins: [dts({ respectExternal: true })] });
  await declarations.write({ file });
  await declarations.close();
}
// Their licences ask for the text beside each copy.
const ofPackages = [...output, ...pageModules.output].flatMap(({ modules = {} }) =>
  // Those of which code is left. The page is bundled from the sources.
  Object.keys(modules).filter((id) => modules[id].code && isAbsolute(id) && !isOwn(id) && !id.startsWith(at("src/"))),
);
const folders = new Map(
  ofPackages.map((id) => {
    const start = id.lastIndexOf("/node_modules/") + "/node_modules/".length;
    const name = packageOf(id.slice(start));
    return [name, join(id.slice(0, start), name)];
  }),
);
/** The text of a package's licence; some say only in their manifest that it is MIT's. */
const licenceOf = (folder) => {
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file !== undefined) return readFileSync(join(folder, file), "utf8");
  const { license, author } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (license !== "MIT") throw new Error(`${folder} has no text of its licence ${license}`);
  const terms = readFileSync(at("LICENSE"), "utf8").replace(/^[\s\S]*?(?=Permission is)/, "");
  return `MIT License\n\nCopyright (c) ${author.name ?? author}\n\n${terms}`;
};
const licences = [...folders].sort().map(([name, folder]) => `${name}\n\n${licenceOf(folder)}`);
writeFileSync(join(out, "bundle/LICENSES.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));
chmodSync(join(out, "src/cli/main.js"), 0o755);
