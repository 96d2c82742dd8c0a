// The recipes of docs/integrations/orchestrators in Dagster and Airflow, over a generated service.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, inject, test } from "vitest";
import { z } from "zod";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { afterTest } from "../support/after-test.ts";
import { run, runWell, start } from "./programs.ts";
import { pythonVenv } from "./python-venv.ts";

const here = import.meta.dirname;
const recipes = join(here, "../../docs/integrations/orchestrators");
const duckmirror = (...argv: string[]) => [inject("builtCli"), ...argv];

/** What the service's start prints, as an environment. */
const aService = async (): Promise<Record<string, string>> => {
  const sandbox = start(process.execPath, duckmirror("sandbox", "--accounts", "5"), {});
  afterTest(() => sandbox.stop());
  const text = await sandbox.seen(/export DUCKMIRROR_BASE_URL=\S+\nexport DUCKMIRROR_TOKEN=\S+/);
  return Object.fromEntries(
    [...text.matchAll(/export (\w+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, value]),
  );
};

/** A folder with the built program as `duckmirror`. */
const onPath = (): string => {
  const folder = tempFolder();
  const file = join(folder, "duckmirror");
  writeFileSync(file, `#!/bin/sh\nexec "${process.execPath}" "${inject("builtCli")}" "$@"\n`);
  chmodSync(file, 0o755);
  return folder;
};

const lastLine = (text: string): unknown => JSON.parse(text.trimEnd().split("\n").at(-1) ?? "");

let dagster: string;
let airflow: string;
beforeAll(async () => {
  dagster = await pythonVenv("dagster", join(here, "requirements-dagster.txt"));
  airflow = await pythonVenv("airflow", join(here, "requirements-airflow.txt"));
});

const dagsterRun = z.object({
  success: z.boolean(),
  materialized: z.record(z.string(), z.record(z.string(), z.unknown())),
  checks: z.record(z.string(), z.boolean()),
});

test("Dagster: one sync materializes each table with its figures, and checks that it is complete", async () => {
  const home = tempFolder();
  const env = {
    ...(await aService()),
    DUCKMIRROR_DATA_DIR: join(home, "data"),
    DAGSTER_HOME: home,
    PATH: `${onPath()}:${process.env.PATH}`,
  };
  const materialize = async (more: Record<string, string> = {}) => {
    const argv = [join(here, "dagster_run.py"), join(recipes, "dagster_assets.py")];
    return dagsterRun.parse(lastLine(await runWell(join(dagster, "bin/python"), argv, { env: { ...env, ...more } })));
  };
  const first = await materialize();
  expect(first.success).toBe(true);
  expect(Object.keys(first.materialized).sort()).toEqual(
    ["accounts", "contacts", "owners"].map((t) => `duckmirror/${t}`),
  );
  expect(first.materialized["duckmirror/accounts"]).toMatchObject({ rows: 5, inserted: 5, updated: 0, credits: 1 });
  expect(first.checks["duckmirror/accounts:complete"]).toBe(true);

  const checks = join(home, "checks");
  mkdirSync(checks);
  writeFileSync(join(checks, "none.sql"), "SELECT id FROM accounts");
  expect(await materialize({ DUCKMIRROR_CHECKS: checks })).toMatchObject({ success: false, materialized: {} });
});

const airflowRun = z.object({
  state: z.string(),
  result: z.object({ status: z.string(), streams: z.array(z.object({ stream: z.string(), inserted: z.number() })) }),
});

test("Airflow: the task defers until the worker's sync ends, and its result is the report", async () => {
  const home = tempFolder();
  const mirror = { ...(await aService()), DUCKMIRROR_DATA_DIR: join(home, "data"), DUCKMIRROR_SCHEDULE: "off" };
  const keyed = await run(process.execPath, duckmirror("key", "add", "airflow", "--role", "operate"), { env: mirror });
  const worker = start(process.execPath, duckmirror("worker"), { ...mirror, DUCKMIRROR_LISTEN: "127.0.0.1:0" });
  afterTest(() => worker.stop());
  const url = (await worker.seen(/ready at \S+/)).replace("ready at ", "");
  const env = {
    AIRFLOW_HOME: join(home, "airflow"),
    AIRFLOW__CORE__LOAD_EXAMPLES: "False",
    AIRFLOW__CORE__DAGS_FOLDER: recipes,
    DUCKMIRROR_URL: url,
    DUCKMIRROR_KEY: keyed.out.trim(),
    PYTHONDONTWRITEBYTECODE: "1",
  };
  await runWell(join(airflow, "bin/airflow"), ["db", "migrate"], { env });
  const argv = [join(here, "airflow_run.py"), join(recipes, "airflow_dag.py")];
  const out = await runWell(join(airflow, "bin/python"), argv, { env });
  const { state, result } = airflowRun.parse(lastLine(out));
  expect(out).toContain("DEFERRED");
  expect(state).toBe("success");
  expect(result.status).toBe("done");
  expect(result.streams).toContainEqual({ stream: "accounts", inserted: 5 });
});
