// A mirror with its views, filled by a test's own SQL, and what its views then answer.
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { type Database, openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { copyMigratedFile } from "../../../support/migrated-mirror.ts";
import { tempDir } from "../temp-dir.ts";

const anyRow = z.record(z.string(), z.unknown());

export interface Mart {
  readonly database: Database;
  /** Rows of a query in a session of this time zone, as arrays of values; instants as ISO text to the minute. */
  rows(sql: string, timeZone?: string): Promise<readonly (readonly unknown[])[]>;
}

const isoMinute = (value: unknown, column: string): unknown =>
  typeof value === "number" && /(_at|_on|_from|_to|^date|_date|since)$/.test(column) && value > 1e10
    ? new Date(value).toISOString().slice(0, 16)
    : value;

export const aMart = async (sql: string): Promise<Mart> => {
  const file = join(tempDir(), "mart.duckdb");
  await copyMigratedFile(file);
  const database = await openDatabase(file, { threads: 1 });
  onTestFinished(() => database.close());
  await database.run(sql);
  return {
    database,
    rows: async (query, timeZone = "UTC") => {
      // Each connection has a time zone of its own.
      const rows = await database.transaction(async (tx) => {
        await tx.run(`SET TimeZone = '${timeZone}'`);
        return tx.query(query, [], anyRow);
      });
      return rows.map((row) => Object.entries(row).map(([column, value]) => isoMinute(value, column)));
    },
  };
};
