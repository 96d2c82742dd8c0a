// Build: TypeScript to dist/ (or the folder given), the status page with its libraries, the SQL files beside it at the same
// relative path, the CLI executable. `--unchecked` after the folder: the same files without checking types, in less
// than half of the processor time, for tests (`npm run check` checks the types).
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, readdirSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const out = process.argv[2] === undefined ? at("dist") : resolve(process.argv[2]);

if (!existsSync(at("node_modules/typescript-native"))) {
  process.stderr.write("The packages it is built with are not installed: run `npm ci` first.\n");
  process.exit(1);
}
rmSync(out, { recursive: true, force: true });
const types = process.argv.includes("--unchecked") ? ["--noCheck"] : [];
for (const project of ["tsconfig.build.json", "src/server/page"]) {
  const tsc = [at("node_modules/typescript-native/bin/tsc"), "-p", at(project), "--outDir", out, ...types];
  execFileSync(process.execPath, tsc, { stdio: "inherit" });
}
// The page's own files, and the three libraries it loads, beside its compiled modules.
const page = join(out, "src/server/page");
for (const name of readdirSync(at("src/server/page")).filter((file) => /\.(html|css|svg)$/.test(file))) {
  cpSync(join(at("src/server/page"), name), join(page, name));
}
for (const [from, names] of [
  ["uplot", ["dist/uPlot.iife.min.js", "dist/uPlot.min.css", "LICENSE"]],
  ["swagger-ui-dist", ["swagger-ui-bundle.js", "swagger-ui.css", "LICENSE", "NOTICE"]],
]) {
  for (const name of names) {
    const target = /^(LICENSE|NOTICE)$/.test(name) ? `${from}.${name}` : basename(name);
    cpSync(at(join("node_modules", from, name)), join(page, "vendor", target));
  }
}
cpSync(at("sql"), join(out, "sql"), { recursive: true });
cpSync(at("package.json"), join(out, "package.json"));
chmodSync(join(out, "src/cli/main.js"), 0o755);
