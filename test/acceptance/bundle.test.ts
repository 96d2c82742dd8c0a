// The build as a package of its own: what it contains, and what it still needs.
import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { expect, inject, test } from "vitest";
import { z } from "zod";

const dist = join(dirname(inject("builtCli")), "../..");
const names = z.record(z.string(), z.string());
const { dependencies, peerDependencies } = z
  .object({ dependencies: names, peerDependencies: names })
  .parse(JSON.parse(readFileSync(join(dist, "package.json"), "utf8")));

test("the bundle imports only packages that are installed with it, and optional ones", () => {
  const files = [
    "src/cli/main.js",
    "src/library/mirror.js",
    ...readdirSync(join(dist, "bundle")).map((name) => `bundle/${name}`),
  ];
  const imported = files
    .filter((name) => name.endsWith(".js"))
    .flatMap((name) => [...readFileSync(join(dist, name), "utf8").matchAll(/^import .*? from "([^".][^"]*)";$/gm)])
    .map(([, name]) => name ?? "");
  expect(imported.length).toBeGreaterThan(50);
  const packages = imported.filter((name) => !isBuiltin(name));
  expect(packages.filter((name) => !(name in { ...dependencies, ...peerDependencies }))).toEqual([]);
});

test("the licence of each package in the bundle is beside it", () => {
  const licences = readFileSync(join(dist, "bundle/LICENSES.txt"), "utf8").split(/^-{80}$/m);
  const packages = licences.map((text) => text.trim().split("\n")[0]);
  const known = ["@duckdb/node-api", "bullmq", "fastify", "luxon", "undici", "zod", "pino"];
  expect(packages).toEqual(expect.arrayContaining(known));
  for (const text of licences) expect(text).toMatch(/permission/i);
});
