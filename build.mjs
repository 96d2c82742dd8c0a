// Build: TypeScript to dist/ (or the folder given), the SQL files beside it at the same relative path, the CLI executable.
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const out = process.argv[2] === undefined ? at("dist") : resolve(process.argv[2]);

rmSync(out, { recursive: true, force: true });
const tsc = [at("node_modules/typescript/bin/tsc"), "-p", at("tsconfig.build.json"), "--outDir", out];
execFileSync(process.execPath, tsc, { stdio: "inherit" });
cpSync(at("sql"), join(out, "sql"), { recursive: true });
cpSync(at("package.json"), join(out, "package.json"));
chmodSync(join(out, "src/cli/main.js"), 0o755);
