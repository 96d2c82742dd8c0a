// The built program as a process: streams, exit codes, signals, file modes.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, inject, test } from "vitest";
import { z } from "zod";
import { openDatabase } from "../../src/warehouse/duckdb/database.ts";
import { readOutput } from "../support/child-output.ts";
import { aFolder } from "../support/cli.ts";

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

const launch = (
  argv: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
  node: readonly string[] = [],
) => {
  const { PATH = "" } = process.env;
  const child = spawn(process.execPath, [...node, inject("builtCli"), ...argv], {
    cwd,
    env: { PATH, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  children.push(child);
  return { child, ended: readOutput(child).ended, firstOutput: once(child.stdout, "data") };
};

test("a Node that is too old is refused in one sentence, before the program is loaded", async () => {
  const lowest = z
    .object({ engines: z.object({ node: z.string() }) })
    .parse(JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))).engines.node;
  expect(lowest).toMatch(/^>=20\.18\./);
  const at = (version: string, option: string) => {
    const fake = `Object.defineProperty(process.versions, "node", { value: "${version}" })`;
    return launch([option], aFolder(), {}, ["--import", `data:text/javascript,${encodeURIComponent(fake)}`]).ended;
  };
  expect(await at("20.17.0", "--help")).toEqual({
    code: 2,
    out: "",
    err: "duckmirror needs Node 20.18 or newer (24 is recommended), and this is Node 20.17.0.\n",
  });
  const [help, version] = [await at("20.18.1", "--help"), await at("26.10.0", "--version")];
  expect(help).toMatchObject({ code: 0, err: "", out: expect.stringContaining("Usage: duckmirror") });
  expect(version).toMatchObject({ code: 0, err: "", out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});

test("files are written for their owner only, whatever umask the program was started with", async () => {
  const cwd = aFolder();
  const { code } = await launch(["init", "--yes", "--config", "new/duckmirror.yaml"], cwd).ended;
  expect(code).toBe(0);
  for (const made of ["new", "new/duckmirror.yaml"]) expect(statSync(join(cwd, made)).mode & 0o077, made).toBe(0);
});

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("%s ends a running sandbox cleanly", async (signal) => {
  const { child, ended, firstOutput } = launch(["sandbox", "--accounts", "2", "--json"], aFolder());
  await firstOutput;
  child.kill(signal);
  expect(await ended).toMatchObject({ code: 0, err: "" });
});

/** A folder whose warehouse.duckdb is an empty database. */
const aSnapshotFolder = async () => {
  const folder = aFolder();
  await (await openDatabase(join(folder, "warehouse.duckdb"))).close();
  return folder;
};

test("a query is read from stdin", async () => {
  const { child, ended } = launch(["query", "--format", "csv", "-"], "/", {
    DUCKMIRROR_DATA_DIR: await aSnapshotFolder(),
  });
  child.stdin?.end("select 40 + 2 as answer");
  expect(await ended).toEqual({ code: 0, out: "answer\r\n42\r\n", err: "" });
});

test("a reader that stops early, like head, is no failure", async () => {
  const argv = ["query", "--format", "csv", "select i from range(10000000) r(i)"];
  const { child, ended, firstOutput } = launch(argv, "/", { DUCKMIRROR_DATA_DIR: await aSnapshotFolder() });
  await firstOutput;
  child.stdout?.destroy();
  expect(await ended).toMatchObject({ code: 0, err: "" });
});

test("SIGINT interrupts a long query with exit code 130", async () => {
  const argv = ["query", "--format", "csv", "select i from range(10000000000) r(i)"];
  const { child, ended, firstOutput } = launch(argv, "/", { DUCKMIRROR_DATA_DIR: await aSnapshotFolder() });
  await firstOutput;
  child.kill("SIGINT");
  expect(await ended).toMatchObject({ code: 130, err: expect.stringContaining("error INTERRUPTED") });
});
