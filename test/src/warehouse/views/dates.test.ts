// Days are DATE in every view of the analysts: a TIMESTAMPTZ at midnight UTC is the day before in a session west of Greenwich.
import { expect, test } from "vitest";
import { z } from "zod";
import { startSandbox } from "../../../../src/sandbox/sandbox.ts";
import { applyViews } from "../../../../src/warehouse/file/views.ts";
import { forFile } from "../../../support/for-file.ts";

const sandbox = await forFile(startSandbox({ seed: 12, accounts: 12, threads: 1, now: Date.UTC(2026, 10, 1, 9, 30) }));
await applyViews(sandbox.database, Date.UTC(2026, 10, 1));

const columnRow = z.object({ view: z.string(), column: z.string(), type: z.string() });
const midnightRow = z.object({ values: z.number(), midnights: z.number() });

test("no view of marts has a time where its values are days, and columns that name a day are DATE", async () => {
  const columns = await sandbox.database.query(
    `SELECT table_name AS "view", column_name AS "column", data_type AS type FROM duckdb_columns()
     WHERE schema_name = 'marts' AND NOT internal ORDER BY ALL`,
    [],
    columnRow,
  );
  expect(new Set(columns.map(({ view }) => view)).size).toBeGreaterThan(15);
  const named = columns.filter(({ column }) => /^day$/.test(column));
  expect(named.length).toBeGreaterThan(1);
  expect(named.filter(({ type }) => type !== "DATE")).toEqual([]);
  // When an account was created is a time by the API document; the generated service creates accounts at midnight.
  const times = columns.filter(({ type, column }) => type.startsWith("TIMESTAMP") && column !== "added_on");
  const days: string[] = [];
  let compared = 0;
  for (const { view, column } of times) {
    const [found] = await sandbox.database.query(
      `SELECT count("${column}")::INTEGER AS "values", count(*) FILTER ("${column}" = time_bucket(INTERVAL 1 DAY, "${column}", TIMESTAMPTZ '2000-01-01 00:00:00+00'))::INTEGER AS midnights FROM marts."${view}"`,
      [],
      midnightRow,
    );
    if (found === undefined || found.values < 5) continue;
    compared += 1;
    if (found.midnights === found.values) days.push(`${view}.${column}`);
  }
  expect(compared).toBeGreaterThan(5);
  expect(days).toEqual([]);
});
