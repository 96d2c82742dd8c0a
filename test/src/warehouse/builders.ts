// Warehouses of their own for tests, and reading from them; the checkpoint builders come along.
import { onTestFinished } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../src/core/clock.ts";
import { openWarehouse, type Warehouse } from "../../../src/warehouse/file/warehouse.ts";
import { copyMigratedMirror } from "../../support/migrated-mirror.ts";
import { tempDir } from "./temp-dir.ts";

export * from "./checkpoints.ts";

/** A warehouse in a directory of its own, closed after the test. */
export const aWarehouse = async (dataDir = tempDir()): Promise<Warehouse> => {
  await copyMigratedMirror(dataDir);
  const warehouse = await openWarehouse({ dataDir, clock: systemClock });
  onTestFinished(() => warehouse.close());
  return warehouse;
};

const anyRow = z.record(z.string(), z.unknown());

/** Rows of a statement as plain objects. */
export const rowsOf = (warehouse: Warehouse, sql: string) => warehouse.database.query(sql, [], anyRow);

/** The one row a statement answers with. */
export const oneRow = async (warehouse: Warehouse, sql: string) => {
  const rows = await rowsOf(warehouse, sql);
  if (rows.length !== 1) throw new Error(`expected one row, got ${rows.length}`);
  return rows[0] ?? {};
};
