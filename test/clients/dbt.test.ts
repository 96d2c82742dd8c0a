// The dbt project of docs/integrations over the snapshot and over Parquet: every model, test and freshness check.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { run } from "./programs.ts";

const project = join(import.meta.dirname, "../../docs/integrations/dbt");

test.each(["snapshot", "parquet"])("dbt builds, tests and checks freshness over the %s", async (target) => {
  const folder = join(tempFolder(), "dbt");
  cpSync(project, folder, { recursive: true });
  const env = {
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
  const freshness = await dbt("source", "freshness");
  expect(freshness.code, freshness.out + freshness.err).toBe(0);
  expect(freshness.out.match(/PASS freshness/g)?.length).toBeGreaterThan(10);
});
