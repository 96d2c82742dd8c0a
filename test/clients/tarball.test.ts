// The package as a stranger gets it: packed from a clean checkout, installed in an empty project on each Node.
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { startRedis } from "../support/redis.ts";
import { NODE_VERSIONS, OLD_NODE } from "./clients-installed.ts";
import { npm, packedTarball } from "./package-of-checkout.ts";
import { run, runWell, start } from "./programs.ts";

const root = join(import.meta.dirname, "../..");

let tarball: string;
beforeAll(async () => {
  tarball = await packedTarball();
});

test("without its packages a checkout is not packed: a package without code must not pass for one", async () => {
  const bare = tempFolder();
  for (const file of ["package.json", "build.mjs"]) cpSync(join(root, file), join(bare, file));
  const packed = await run(npm(), ["pack", "--dry-run"], { cwd: bare });
  expect(packed.code).not.toBe(0);
  expect(packed.err).toContain("npm ci");
});

/** Paths of the manifests of every package below a folder. */
const installed = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) =>
    /(^|node_modules\/)(@[^/]+\/)?[^/@]+\/package\.json$/.test(path),
  );

const bytesBelow = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);

test("the tarball is small and holds no tests, benchmarks, screenshots or modules that the bundle has", async () => {
  expect(statSync(tarball).size).toBeLessThan(4_000_000);
  const names = (await runWell("tar", ["-tzf", tarball])).trim().split("\n");
  expect(names.filter((name) => /\.test\.|^package\/test|bench\/|screenshots|\.d\.ts$/.test(name))).toEqual([
    "package/dist/src/library/mirror.d.ts",
  ]);
});

/** The package in an empty project, installed by this version of Node. */
const install = async (version: string) => {
  const project = tempFolder();
  writeFileSync(join(project, "package.json"), '{"name": "empty", "private": true, "type": "module"}');
  const bin = inject("nodes")[version] ?? "";
  const node = join(bin, "node");
  const on = { cwd: project, env: { PATH: `${bin}:${process.env.PATH}` } };
  expect(await runWell(node, ["--version"], on)).toBe(`v${version}\n`);
  const { err } = await run(npm(), ["install", "--engine-strict", "--no-audit", "--no-fund", tarball], on);
  // npm warns here of install scripts, and of packages that want another Node.
  expect(err).toBe("");
  return { project, node, on, program: join(project, "node_modules/.bin/duckmirror") };
};

/** The oldest and the newest. */
const ENDS: readonly (string | undefined)[] = [NODE_VERSIONS[0], NODE_VERSIONS.at(-1)];

describe.each(NODE_VERSIONS)("Node %s", (version) => {
  let at: Awaited<ReturnType<typeof install>>;
  beforeAll(async () => {
    at = await install(version);
  });

  test("installs few and small packages, and is imported", async () => {
    const packages = join(at.project, "node_modules");
    // Those of which code is in the bundle count as well (docs/decisions/packaging.md).
    const bundled = readFileSync(join(packages, "duckmirror/dist/bundle/LICENSES.txt"), "utf8").split(/^-{80}$/m);
    expect(installed(packages).length + bundled.length).toBeLessThan(80);
    expect(bytesBelow(packages)).toBeLessThan(110_000_000);
    const load = `console.log(Object.keys(await import("duckmirror")).join())`;
    expect(await runWell(at.node, ["--input-type=module", "-e", load], at.on)).toContain("createMirror");
  });

  test("runs demo and query", async () => {
    const { node, program, on } = at;
    const caches = tempFolder();
    const kept = { ...on, env: { ...on.env, XDG_CACHE_HOME: caches } };
    expect(await runWell(node, [program, "--help"], kept)).toContain("Usage: duckmirror");
    // Node 20 cannot keep compiled modules.
    expect(existsSync(join(caches, "duckmirror/compiled"))).toBe(!version.startsWith("20."));
    const argv = [program, "demo", "--accounts", "2", "--data-dir", "data", "--quiet", "--json"];
    const demo = await runWell(node, argv, on);
    expect(z.object({ status: z.string() }).parse(JSON.parse(demo)).status).toBe("done");
    // Some versions of Node reserve much memory at their start, which is not the statement's.
    const wide = "SELECT repeat('x', 1000000) AS text FROM range(100)";
    const rows = await runWell(node, [program, "query", wide, "--memory", "64MiB", "--format", "csv", "--quiet"], on);
    expect(rows.length).toBeGreaterThan(100_000_000);
  });

  if (!ENDS.includes(version)) return;
  test("runs sync, serve, and a worker with Redis and traces", async () => {
    const { node, program, project } = at;
    const redis = await startRedis();
    const data = join(project, "mirror");
    const sandbox = start(node, [program, "sandbox", "--accounts", "2", "--rate", "6000"], {});
    const env = {
      DUCKMIRROR_BASE_URL: await sandbox.seen(/BASE_URL=(\S+)/),
      DUCKMIRROR_TOKEN: await sandbox.seen(/TOKEN=(\S+)/),
      DUCKMIRROR_RATE_LIMIT: "6000",
      DUCKMIRROR_DATA_DIR: data,
      DUCKMIRROR_LISTEN: "127.0.0.1:0",
    };
    const synced = await runWell(node, [program, "sync", "--json", "--quiet"], { cwd: project, env });
    expect(z.object({ status: z.string() }).parse(JSON.parse(synced)).status).toBe("done");
    const server = start(node, [program, "serve"], env);
    const page = await fetch(`${await server.seen(/http:\/\/127\.0\.0\.1:\d+/)}/v1/accounts`);
    expect(page.status).toBe(200);
    expect(await server.stop()).toBe(0);
    const shared = { ...env, REDIS_URL: redis.url, OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };
    const worker = start(node, [program, "worker"], shared);
    const address = await worker.seen(/http:\/\/127\.0\.0\.1:\d+/);
    const triggered = await runWell(node, [program, "trigger", "accounts", "--wait", "--json"], {
      cwd: project,
      env: { ...shared, DUCKMIRROR_LISTEN: new URL(address).host },
    });
    expect(triggered).toContain('"status":"done"');
    expect((await fetch(`${address}/api/fleet`)).status).toBe(200);
    expect([await worker.stop(), await sandbox.stop()]).toEqual([0, 0]);
  });
});

test("an older Node is refused in one sentence", async () => {
  const { program, project } = await install(NODE_VERSIONS[0]);
  const old = join(inject("nodes")[OLD_NODE] ?? "", "node");
  expect(await run(old, [program, "--help"], { cwd: project })).toEqual({
    code: 2,
    out: "",
    err: `duckmirror needs Node 20.18 or newer (24 is recommended), and this is Node ${OLD_NODE}.\n`,
  });
});
