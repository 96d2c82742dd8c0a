// The dbt project of docs/integrations over the snapshot and over Parquet: every model, test and freshness check, and what an
// incremental model adds; over a lake what needs neither history nor freshness.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { runQuery } from "../../src/warehouse/read/query.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { extendedClient } from "./extended-client.ts";
import { run, runWell } from "./programs.ts";

const project = join(import.meta.dirname, "../../docs/integrations/dbt");

/** A copy of the project, and dbt in it. */
const aProject = (target: string, env: Readonly<Record<string, string>>) => {
  const folder = join(tempFolder(), "dbt");
  cpSync(project, folder, { recursive: true });
  const file = join(folder, "dbt.duckdb");
  const dbt = async (...argv: readonly string[]) => {
    const options = ["--no-use-colors", ...argv, "--profiles-dir", ".", "--target", target];
    const ended = await run(join(inject("venv"), "bin/dbt"), options, {
      cwd: folder,
      env: { DUCKMIRROR_DBT_FILE: file, DBT_SEND_ANONYMOUS_USAGE_STATS: "false", ...env },
    });
    expect(ended.code, ended.out + ended.err).toBe(0);
    return ended.out;
  };
  return { file, dbt };
};

test.each(["snapshot", "parquet"])("dbt builds, tests and checks freshness over the %s", async (target) => {
  const snapshot = join(inject("mirror"), "warehouse.duckdb");
  const sources = { DUCKMIRROR_SNAPSHOT: snapshot, DUCKMIRROR_EXPORT: join(inject("mirror"), "export") };
  const { file, dbt } = aProject(target, sources);
  expect(await dbt("build")).toMatch(/Done\. PASS=\d\d+ WARN=\d+ ERROR=0 SKIP=0/);
  // What a run had before stays as it is; what came since is added by its number.
  const ask = "import duckdb, sys; print(duckdb.connect(sys.argv[1]).sql(sys.argv[2]).fetchall())";
  const own = (sql: string) => runWell(join(inject("venv"), "bin/python"), ["-c", ask, file, sql]);
  const [[all] = []] = (await runQuery({ snapshot, sql: "SELECT count(*) FROM sync.changes" })).rows;
  await own("UPDATE changes SET run_id = 'kept' WHERE n = 1");
  await own("DELETE FROM changes WHERE n > 7");
  await dbt("run", "--select", "changes");
  expect(await own("SELECT count(*), count(*) FILTER (run_id = 'kept'), count(DISTINCT n) FROM changes")).toBe(
    `[(${all}, 1, ${all})]\n`,
  );
  expect((await dbt("source", "freshness")).match(/PASS freshness/g)?.length).toBeGreaterThan(10);
});

test("dbt builds and tests over a lake what needs no history", async () => {
  const { env, files } = await extendedClient("ducklake");
  const lake = `ducklake:${join(tempFolder(), "lake/catalog.ducklake")}`;
  const destination = { name: "lake", kind: "ducklake", url: lake, extension_directory: files };
  await runWell(process.execPath, [inject("builtCli"), "deliver", "--data-dir", inject("mirror")], {
    env: { DUCKMIRROR_DESTINATIONS: JSON.stringify([destination]) },
  });
  const built = await aProject("lake", { ...env, DUCKMIRROR_LAKE: lake }).dbt("build", "--selector", "lake");
  expect(built).toMatch(/Done\. PASS=[45]\d WARN=\d+ ERROR=0 SKIP=0/);
  expect(built).toContain("OK created sql view model main.stg_signals");
});
