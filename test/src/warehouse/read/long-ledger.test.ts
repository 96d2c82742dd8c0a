// A ledger of years: what reads runs, requests and readings of the quota looks at each of them a few times, and compares none
// with all others. Counted in rows that DuckDB's operators pass on, not in time.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { z } from "zod";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { sqlText } from "../../../../src/warehouse/duckdb/sql-files.ts";
import { afterTest } from "../../../support/after-test.ts";
import { copyMigratedMirror } from "../../../support/migrated-mirror.ts";
import { tempDir } from "../temp-dir.ts";

const SYNCS = 1_000;
/** Rows in all, and how many times each may pass an operator; a comparison with all others is 1,000 times. */
const ROWS = 6 * SYNCS;
const MOST_PASSES = 20;

const SQL = fileURLToPath(new URL("../../../../sql/", import.meta.url));
const isOfLedger = (text: string) => /usage_snapshots|sync\.requests|sync\.runs/.test(text);
const isQuestion = (text: string) => /^(SELECT|WITH)\b/.test(text.replaceAll(/^--.*\n/gm, "")) && !/\$\d/.test(text);
const statements = readdirSync(SQL, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".sql"))
  .map((name) => ({ name, text: sqlText(name) }))
  .filter(({ text }) => isOfLedger(text) && isQuestion(text));
const views = ["credit_burn", "data_quality", "freshness", "usage_by_endpoint"].map((name) => ({
  name: `views/${name}.sql`,
  text: `SELECT * FROM marts.${name}`,
}));

interface Operator {
  readonly operator_cardinality?: number | undefined;
  readonly children?: readonly Operator[] | undefined;
}
const operator: z.ZodType<Operator> = z.object({
  operator_cardinality: z.number().optional(),
  get children() {
    return z.array(operator).optional();
  },
});
const passed = ({ operator_cardinality: own = 0, children = [] }: Operator): number =>
  children.reduce((sum, child) => sum + passed(child), own);

test("no question to a ledger of 1,000 syncs compares its rows with each other", async () => {
  const dir = tempDir();
  await copyMigratedMirror(dir);
  const database = await openDatabase(join(dir, "state", "working.duckdb"), { threads: 1 });
  afterTest(() => database.close());
  await database.run(`
    INSERT INTO sync.runs (run_id, mode, status, started_at, finished_at, summary)
    SELECT 'r' || n, 'incremental', 'done', now() - n * INTERVAL 1 HOUR, now() - n * INTERVAL 1 HOUR, '{"streams": []}'
    FROM range(${SYNCS}) AS t(n);
    INSERT INTO sync.requests BY NAME
    SELECT 'q' || n AS request_id, 'r' || n // 3 AS run_id, 'signals' AS stream, '' AS scope, 'listSignals' AS endpoint,
      '/v1/signals' AS url, 200 AS status, 'spent' AS charge, 1 AS credits,
      now() - n * INTERVAL 20 MINUTE AS started_at, 20 AS duration_ms, 100 AS bytes, 20 AS rows, 1 AS attempt, 'look' AS work
    FROM range(${3 * SYNCS}) AS t(n);
    INSERT INTO main.usage_snapshots (captured_at, "limit", used, remaining, resets_at)
    SELECT now() - n * INTERVAL 30 MINUTE, 10000, 10, 9990, now() + INTERVAL 10 DAY FROM range(${2 * SYNCS}) AS t(n);`);
  expect(statements.length).toBeGreaterThan(10);
  const found: [string, number][] = [];
  for (const { name, text } of [...statements, ...views]) {
    const schema = z.object({ explain_value: z.string() });
    const [row] = await database.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, [], schema);
    const plan = operator.parse(JSON.parse(row?.explain_value ?? "{}"));
    found.push([name, Math.round(passed(plan) / ROWS)]);
  }
  expect(found.filter(([, passes]) => passes > MOST_PASSES)).toEqual([]);
});
