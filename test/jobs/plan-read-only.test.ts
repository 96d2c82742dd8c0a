// plan in a data directory that cannot be written: it reads the snapshot, as the working file cannot be opened.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { planJob, planJson } from "../../jobs/plan.ts";
import { systemClock } from "../../src/core/clock.ts";
import { isCode } from "../../src/core/errors.ts";
import { openDatabase } from "../../src/warehouse/duckdb/database.ts";
import { migrate } from "../../src/warehouse/file/migrate.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { configOf } from "../support/given-config.ts";

const REQUEST = {};

test("a directory that cannot be written is planned from its snapshot; without one the refusal stays", async () => {
  const dataDir = tempDir();
  const snapshot = join(dataDir, "warehouse.duckdb");
  const database = await openDatabase(snapshot, { threads: 1 });
  await migrate(database, 0);
  await database.run("INSERT INTO main.accounts (id, type, _synced_at) VALUES (7, 'customer', '2026-01-01')");
  await database.close();
  // A file where a folder is needed refuses every user, root included.
  mkdirSync(join(dataDir, "state"));
  writeFileSync(join(dataDir, "state", "archive"), "");
  const env = { DUCKMIRROR_DATA_DIR: dataDir };
  const config = configOf(null, env);
  const { streams } = planJson(await planJob(config, REQUEST, systemClock));
  expect(streams.find(({ stream }) => stream === "account_insights")).toMatchObject({ due: 1 });
  rmSync(snapshot);
  await expect(planJob(config, REQUEST, systemClock)).rejects.toSatisfy((error) =>
    isCode(error, "DATA_DIR_UNWRITABLE"),
  );
});
