import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, inject, test } from "vitest";

const dist = join(dirname(inject("builtCli")), "../..");
const BUNDLED = [
  "@duckdb/node-api",
  "commander",
  "lossless-json",
  "picocolors",
  "pino",
  "pino-pretty",
  "string-width",
  "undici",
  "yaml",
  "zod",
];

test("the command line loads the packages that are in its bundle from there alone", () => {
  const files = ["src/cli/main.js", ...readdirSync(join(dist, "bundle")).map((name) => `bundle/${name}`)];
  const imported = files
    .filter((name) => name.endsWith(".js"))
    .flatMap((name) => [...readFileSync(join(dist, name), "utf8").matchAll(/^import .*? from "([^".][^"]*)";$/gm)])
    .map(([, name]) => name ?? "");
  expect(imported.length).toBeGreaterThan(50);
  expect(imported.filter((name) => BUNDLED.some((each) => name === each || name.startsWith(`${each}/`)))).toEqual([]);
});

test("the licence of each of them, and of what they bring along, is beside the bundle", () => {
  const licences = readFileSync(join(dist, "bundle/LICENSES.txt"), "utf8").split(/^-{80}$/m);
  const names = licences.map((text) => text.trim().split("\n")[0]);
  expect(names).toEqual(expect.arrayContaining([...BUNDLED, "sonic-boom"]));
  for (const text of licences) expect(text).toMatch(/permission/i);
});
