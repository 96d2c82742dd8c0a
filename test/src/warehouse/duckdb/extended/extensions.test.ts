// Where extensions of DuckDB are loaded from, and what is said of one that is nowhere.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ExtensionMissing, loadExtensions } from "../../../../../src/warehouse/duckdb/extended/program.ts";
import { aFolder } from "../../../../support/cli.ts";

/** A DuckDB that has these extensions and can install those; the statements that it was given. */
const aDuckdb = (has: readonly string[], offered: readonly string[] = []) => {
  const statements: string[] = [];
  const installed = new Set(has);
  const run = async (sql: string) => {
    statements.push(sql);
    const [verb = "", name = ""] = sql.split(" ");
    if (verb === "INSTALL") {
      if (!offered.includes(name)) throw new Error("no internet");
      installed.add(name);
    }
    if (verb === "LOAD" && !name.startsWith("'") && !installed.has(name)) throw new Error(`${name} not found`);
  };
  return { run, statements };
};

test("an extension that DuckDB has is loaded without the internet", async () => {
  const { run, statements } = aDuckdb(["ducklake"]);
  await loadExtensions(run, ["ducklake"], undefined);
  expect(statements).toEqual(["LOAD ducklake"]);
});

test("one that it lacks is installed, and then loaded", async () => {
  const { run, statements } = aDuckdb(["ducklake"], ["postgres"]);
  await loadExtensions(run, ["ducklake", "postgres"], undefined);
  expect(statements.slice(-2)).toEqual(["INSTALL postgres", "LOAD postgres"]);
});

test("a file in the folder is loaded instead, whatever signs its path has", async () => {
  const folder = join(aFolder(), "it's here");
  const { run, statements } = aDuckdb([]);
  mkdirSync(folder);
  writeFileSync(join(folder, "ducklake.duckdb_extension"), "");
  await loadExtensions(run, ["ducklake"], folder);
  expect(statements.at(-1)).toBe(`LOAD '${join(folder, "ducklake.duckdb_extension").replace("'", "''")}'`);
  expect(statements.join()).not.toContain("INSTALL");
});

test("a folder without the file is where DuckDB looks for it and installs it", async () => {
  const folder = aFolder();
  const { run, statements } = aDuckdb([], ["ducklake"]);
  await loadExtensions(run, ["ducklake"], folder);
  expect(statements[0]).toBe(`SET extension_directory = '${folder}'`);
  expect(statements).toContain("INSTALL ducklake");
});

test("an extension that is nowhere is named, with DuckDB's reason, and none after it is loaded", async () => {
  const { run, statements } = aDuckdb(["httpfs"]);
  const failure = await loadExtensions(run, ["ducklake", "httpfs"], undefined).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ExtensionMissing);
  expect(failure).toMatchObject({ extension: "ducklake", message: "no internet" });
  expect(statements).not.toContain("LOAD httpfs");
});
