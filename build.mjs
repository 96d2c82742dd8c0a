// Build: TypeScript to dist/, the SQL files beside it at the same relative path, the CLI executable.
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

rmSync(at("dist"), { recursive: true, force: true });
execFileSync(process.execPath, [at("node_modules/typescript/bin/tsc"), "-p", at("tsconfig.build.json")], {
  stdio: "inherit",
});
cpSync(at("sql"), at("dist/sql"), { recursive: true });
cpSync(at("package.json"), at("dist/package.json"));
chmodSync(at("dist/src/cli/main.js"), 0o755);
