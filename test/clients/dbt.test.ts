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

test.each(["snapshot", "parquet"])("dbt builds, tests and checks freshness over the %s", async (target) => {
  const folder = join(tempFolder(), "dbt");
  cpSync(project, folder, { recursive: true });
  const file = join(folder, "dbt.duckdb");
  const env = {
    DUCKMIRROR_DBT_FILE: file,
    DUCKMIRROR_SNAPSHOT: join(inject("mirror"), "warehouse.duckdb"),
    DUCKMIRROR_EXPORT: join(inject("mirror"), "export"),
    DBT_SEND_ANONYMOUS_USAGE_STATS: "false",
  };
  const dbt = (...argv: readonly string[]) =>
    run(join(inject("venv"), "bin/dbt"), ["--no-use-colors", ...argv, "--profiles-dir", ".", "--target", target], {
      cwd: folder,
      env,
    });
  const build = await dbt("build");
  expect(build.code, build.out + build.err).toBe(0);
  expect(build.out).toMatch(/Done\. PASS=\d\d+ WARN=\d+ ERROR=0 SKIP=0/);
  // What a run had before stays as it is; what came since is added by its number.
  const own = (sql: string) =>
    runWell(join(inject("venv"), "bin/python"), [
      "-c",
      "import duckdb, sys; print(duckdb.connect(sys.argv[1]).sql(sys.argv[2]).fetchall())",
      file,
      sql,
    ]);
  const [[all] = []] = (await runQuery({ snapshot: env.DUCKMIRROR_SNAPSHOT, sql: "SELECT count(*) FROM sync.changes" }))
    .rows;
  await own("UPDATE changes SET run_id = 'kept' WHERE n = 1");
  await own("DELETE FROM changes WHERE n > 7");
  const again = await dbt("run", "--select", "changes");
  expect(again.code, again.out + again.err).toBe(0);
  expect(await own("SELECT count(*), count(*) FILTER (run_id = 'kept'), count(DISTINCT n) FROM changes")).toBe(
    `[(${all}, 1, ${all})]\n`,
  );
  const freshness = await dbt("source", "freshness");
  expect(freshness.code, freshness.out + freshness.err).toBe(0);
  expect(freshness.out.match(/PASS freshness/g)?.length).toBeGreaterThan(10);
});

test("dbt builds and tests over a lake what needs no history", async () => {
  const { env, files } = await extendedClient("ducklake");
  const folder = join(tempFolder(), "dbt");
  cpSync(project, folder, { recursive: true });
  const lake = `ducklake:${join(folder, "lake/catalog.ducklake")}`;
  const destination = { name: "lake", kind: "ducklake", url: lake, extension_directory: files };
  await runWell(process.execPath, [inject("builtCli"), "deliver", "--data-dir", inject("mirror")], {
    env: { DUCKMIRROR_DESTINATIONS: JSON.stringify([destination]) },
  });
  const argv = ["--no-use-colors", "build", "--profiles-dir", ".", "--target", "lake", "--selector", "lake"];
  const build = await run(join(inject("venv"), "bin/dbt"), argv, {
    cwd: folder,
    env: { ...env, DUCKMIRROR_LAKE: lake, DBT_SEND_ANONYMOUS_USAGE_STATS: "false" },
  });
  expect(build.code, build.out + build.err).toBe(0);
  expect(build.out).toMatch(/Done\. PASS=[45]\d WARN=\d+ ERROR=0 SKIP=0/);
  expect(build.out).toContain("OK created sql view model main.stg_signals");
});
