// The published snapshot in every DuckDB that people have: each table and view opens, and days are the service's days.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, inject, test } from "vitest";
import { z } from "zod";
import { DUCKDB_VERSIONS } from "./clients-installed.ts";
import { runWell } from "./programs.ts";

const queries = fileURLToPath(new URL("../../sql/queries", import.meta.url));

const answer = z.object({
  version: z.string(),
  rows: z.record(z.string(), z.number()),
  shifted: z.array(z.unknown()),
  failed: z.record(z.string(), z.string()),
});

test.each(DUCKDB_VERSIONS)(
  "DuckDB %s reads every table and view, west of Greenwich too, and answers sql/queries",
  async (version) => {
    const found = await runWell(
      join(inject("venv"), "bin/python"),
      [join(import.meta.dirname, "read_snapshot.py"), join(inject("mirror"), "warehouse.duckdb"), queries],
      { env: { PYTHONPATH: inject("duckdbs")[version] ?? "", TZ: "America/New_York" } },
    );
    const { version: ran, rows, shifted, failed } = answer.parse(JSON.parse(found));
    expect(ran).toBe(version);
    expect(rows).toMatchObject({ "main.accounts": 12, "marts.account_360": 12, "sync.runs": 2 });
    // The demo's second sync changed some.
    expect(rows["history.accounts"]).toBeGreaterThan(0);
    expect(Object.keys(rows).length).toBeGreaterThan(50);
    expect(shifted).toEqual([]);
    expect(failed).toEqual({});
  },
);
