// plan from a snapshot that an older version wrote: the program was upgraded, and no sync has run since.
import { join } from "node:path";
import { expect, test } from "vitest";
import { planJson, planSnapshotJob } from "../../jobs/plan.ts";
import { vocabulary } from "../../src/catalog/field-rules.ts";
import { systemClock } from "../../src/core/clock.ts";
import { resolveConfig } from "../../src/core/config/config.ts";
import { openDatabase } from "../../src/warehouse/duckdb/database.ts";
import { readMigrations } from "../../src/warehouse/duckdb/sql-files.ts";
import { migrate } from "../../src/warehouse/file/migrate.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";

const REQUEST = { streams: [], full: false, maxDurationMs: null, allowMassDelete: false };

/** A snapshot with one account and the first migrations only. */
const snapshotWith = async (migrations: number) => {
  const dataDir = tempDir();
  const database = await openDatabase(join(dataDir, "warehouse.duckdb"), { threads: 1 });
  await migrate(database, 0, readMigrations().slice(0, migrations));
  await database.run(
    "INSERT INTO main.accounts (id, type, priority, _synced_at) VALUES (7, 'customer', 1, '2026-01-01')",
  );
  await database.close();
  return dataDir;
};

const planOf = async (dataDir: string, settings: Record<string, string>) => {
  const env = { DUCKMIRROR_DATA_DIR: dataDir, DUCKMIRROR_RATE_LIMIT: "600", ...settings };
  const config = resolveConfig({ flags: {}, env, file: null, cwd: dataDir, vocabulary: vocabulary() });
  return planJson(await planSnapshotJob(config, REQUEST, systemClock));
};

const SETTINGS = {
  DUCKMIRROR_SCOPE: JSON.stringify({ accounts: { type: ["customer"] } }),
  DUCKMIRROR_BUDGETS: "walks.per_day=100",
};

test.each([1, 3, 6, 7, readMigrations().length])(
  "with the first %i migrations it answers, also with a scope and budgets",
  async (migrations) => {
    const dataDir = await snapshotWith(migrations);
    for (const settings of [{}, SETTINGS]) {
      const { streams } = await planOf(dataDir, settings);
      const insights = streams.find(({ stream }) => stream === "account_insights");
      expect(insights).toMatchObject({ due: 1 });
    }
  },
);
