// Every recipe of docs/integrations, run as it is written there.
import { cpSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { runWell } from "./programs.ts";

const docs = join(import.meta.dirname, "../../docs/integrations");
const readme = readFileSync(join(docs, "README.md"), "utf8");
const python = () => join(inject("venv"), "bin/python");

/** The text of the README that the expression finds; the test fails when the recipe is no longer there. */
const inReadme = (expression: RegExp): string => {
  const found = expression.exec(readme)?.[1];
  if (found === undefined) throw new Error(`docs/integrations/README.md holds nothing like ${expression}`);
  return found;
};

/** A folder with the mirror at `data`, where the README's commands find it. */
const besideData = (): string => {
  const folder = tempFolder();
  symlinkSync(inject("mirror"), join(folder, "data"));
  return folder;
};

test.each(readdirSync(join(docs, "recipes")).filter((name) => name.endsWith(".py")))("%s", async (name) => {
  expect(await runWell(python(), [join(docs, "recipes", name), inject("mirror")])).not.toBe("");
});

test("pandas, pyarrow and polars open every folder of a young mirror's export, with every row, and no column is bytes", async () => {
  const counts = z.object({ pandas: z.number(), pyarrow: z.number(), polars: z.number(), bytes: z.array(z.string()) });
  const folder = join(inject("mirror"), "export");
  const text = await runWell(python(), [join(import.meta.dirname, "read_export.py"), folder]);
  const found = z.record(z.string(), counts).parse(JSON.parse(text));
  const manifest = z
    .object({ files: z.array(z.object({ table: z.string(), rows: z.number() })) })
    .parse(JSON.parse(readFileSync(join(folder, "_manifest.json"), "utf8")));
  const rowsOf = new Map<string, number>();
  for (const { table, rows } of manifest.files) rowsOf.set(table, (rowsOf.get(table) ?? 0) + rows);
  expect(found).toEqual(
    Object.fromEntries([...rowsOf].map(([name, n]) => [name, { pandas: n, pyarrow: n, polars: n, bytes: [] }])),
  );
});

describe("commands in a shell", () => {
  const commands = readme.split("\n").filter((line) => /^duckdb /.test(line));
  test.each(commands)("%s", async (command) => {
    const path = `${inject("venv")}/bin:${process.env.PATH}`;
    const out = await runWell("bash", ["-c", command], { cwd: besideData(), env: { PATH: path } });
    expect(out).toMatch(/funding-alert|account_name/);
  });
  test("are there", () => expect(commands.length).toBeGreaterThan(1));
});

test("Superset: the address and parameters of the recipe open the snapshot without loading anything", async () => {
  const address = inReadme(/`(duckdb:\/\/\/\/[^`]+)`/).replace("/absolute/path/data", inject("mirror"));
  const parameters = inReadme(/`(\{"connect_args"[^`]+)`/);
  for (const version of ["1.5.6", "2.0.0"]) {
    const env = { PYTHONPATH: inject("duckdbs")[version] ?? "" };
    const out = await runWell(python(), [join(import.meta.dirname, "superset_engine.py"), address, parameters], {
      env,
    });
    const [rows, tables] = out.split("\n");
    expect(rows).toBe("12");
    expect(tables).toContain("accounts");
  }
});

test("Evidence and Grafana: their SQL runs on the snapshot", async () => {
  const queries = [inReadme(/with `(select \* from marts\.account_360)`/), inReadme(/`(SELECT day AS time[^`]+)`/)];
  for (const sql of queries) {
    const argv = [inject("builtCli"), "query", "--format", "csv", sql, "--data-dir", inject("mirror")];
    expect((await runWell(process.execPath, argv)).split("\n").length).toBeGreaterThan(2);
  }
});

test("Power BI: the file that the recipe names is there", () => {
  const file = inReadme(/`(data\/export\/[\w./]+\.parquet)`/);
  expect(statSync(join(besideData(), file)).size).toBeGreaterThan(0);
});

test("Excel and Tableau: the commands of the recipes write CSV with a line a row", async () => {
  const folder = tempFolder();
  cpSync(join(inject("mirror"), "warehouse.duckdb"), join(folder, "data/warehouse.duckdb"));
  const commands = [
    inReadme(/`duckmirror (export --format csv --guard[^`]+)`/),
    inReadme(/`duckmirror (export --format csv --tables marts)`/),
  ];
  for (const command of commands)
    await runWell(process.execPath, [inject("builtCli"), ...command.split(" ")], { cwd: folder });
  const count = "import csv, sys; print(len(list(csv.reader(open(sys.argv[1], newline='', encoding='utf-8')))))";
  for (const file of [
    "sheets/marts.account_360/marts.account_360.csv",
    "data/export-csv/marts.account_360/marts.account_360.csv",
  ]) {
    expect(await runWell(python(), ["-c", count, join(folder, file)])).toBe("13\n");
  }
});
