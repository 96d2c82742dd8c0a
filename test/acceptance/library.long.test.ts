// The package as programs import it: the examples of docs/examples, type-checked and run against the built package.
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, inject, test } from "vitest";
import { startSandbox } from "../../src/sandbox/sandbox.ts";
import { dirForFile } from "../src/warehouse/temp-dir.ts";
import { forFile } from "../support/for-file.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));
const dir = dirForFile();

/** A program of somebody else: the package is one of its dependencies, the examples are its sources. */
const sandbox = await forFile(startSandbox({ accounts: 4, requestsPerMinute: 6000 }));
beforeAll(async () => {
  const built = resolve(dirname(inject("builtCli")), "../..");
  const installed = join(dir, "node_modules", "duckmirror");
  mkdirSync(installed, { recursive: true });
  cpSync(join(root, "package.json"), join(installed, "package.json"));
  symlinkSync(built, join(installed, "dist"));
  symlinkSync(join(root, "node_modules", "@types"), join(dir, "node_modules", "@types"));
  cpSync(join(root, "docs", "examples"), dir, { recursive: true });
  writeFileSync(join(dir, "package.json"), '{ "type": "module" }');
  const compilerOptions = {
    target: "ES2022",
    module: "NodeNext",
    moduleResolution: "NodeNext",
    strict: true,
    types: ["node"],
    skipLibCheck: false,
  };
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  await run(process.execPath, [tsc, "-p", dir]).catch((error: unknown) => {
    const printed = error instanceof Error && "stdout" in error ? String(error.stdout) : "";
    throw new Error(`the examples do not compile against the package:\n${printed}`);
  });
});

const example = (name: string, ...args: readonly string[]) =>
  run(process.execPath, [join(dir, `${name}.js`), ...args], {
    cwd: dir,
    env: {
      PATH: process.env.PATH,
      DUCKMIRROR_BASE_URL: sandbox.url,
      DUCKMIRROR_TOKEN: sandbox.token,
      DUCKMIRROR_DATA_DIR: join(dir, name),
    },
  });

test("an example syncs within a budget, shows progress and asks the mirror", async () => {
  const { stdout, stderr } = await example("sync-and-ask");
  expect(stderr).toMatch(/signals: \d+ rows[\s\S]*credits spent/);
  const [head, ...rows] = stdout.trim().split("\n");
  expect(head).toBe("type\tsignals");
  expect(rows).toHaveLength(5);
});

test("an example hands on what each sync brought", async () => {
  const { stdout, stderr } = await example("watch-a-stream", "0");
  expect(stderr).toBe("");
  expect(stdout.trim().split("\n").length).toBeGreaterThan(20);
});
