// A migration for a field that was unknown: the column is filled from what `_extra` kept, exactly.
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { type ColumnType, fields, integer, text, texts, time } from "../../../../src/catalog/fields.ts";
import { type TableSpec, tableSpec } from "../../../../src/catalog/tables.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { migration, readMigrations } from "../../../../src/warehouse/duckdb/sql-files.ts";
import { migrate } from "../../../../src/warehouse/file/migrate.ts";
import { writeCheckpoint } from "../../../../src/warehouse/load/commit.ts";
import { aCheckpoint, aLoad, aSignal, T0 } from "../checkpoints.ts";
import { tempDir } from "../temp-dir.ts";

const known = tableSpec("signals");
const later: TableSpec = {
  ...known,
  fields: [
    ...known.fields,
    ...fields({
      ticker: text("Stock symbol."),
      reach: integer("People reached."),
      seenAt: time("When it was seen."),
      topics: texts("Topics."),
    }),
  ],
};
const TYPES: Readonly<Record<string, ColumnType>> = {
  ticker: "VARCHAR",
  reach: "BIGINT",
  seen_at: "TIMESTAMPTZ",
  topics: "VARCHAR[]",
};
const added = migration(
  `${String(readMigrations().length + 1).padStart(4, "0")}_more_of_signals.sql`,
  ["main", "history"]
    .flatMap((schema) =>
      Object.entries(TYPES).map(([column, type]) => `ALTER TABLE ${schema}.signals ADD COLUMN ${column} ${type};`),
    )
    .join("\n"),
);

test("columns that a migration adds for unknown fields are filled from _extra, in main and history", async () => {
  const database = await openDatabase(join(tempDir(), "w.duckdb"));
  onTestFinished(() => database.close());
  await migrate(database, T0);
  const commit = (records: Parameters<typeof aLoad>[1]) =>
    database.transaction((tx) => writeCheckpoint(tx, aCheckpoint([aLoad("signals", records)])));
  await commit([
    aSignal(1, { ticker: "OLD", other: [1] }),
    aSignal(2, { reach: 2n ** 60n + 1n, seenAt: "2026-03-01", topics: ["a", "b"] }),
    aSignal(3, { reach: "many", ticker: null }),
    aSignal(4),
  ]);
  await commit([aSignal(1, { ticker: 'N"W', other: [1] })]);

  expect(await migrate(database, T0, [...readMigrations(), added], [later])).toEqual([added.name]);

  const read = (schema: string) =>
    database.query(
      `SELECT id, ticker, reach, seen_at, topics, CAST(_extra AS VARCHAR) AS extra FROM ${schema}.signals ORDER BY id`,
      [],
      z.record(z.string(), z.unknown()),
    );
  const empty = { ticker: null, reach: null, seen_at: null, topics: null, extra: null };
  expect(await read("main")).toEqual([
    { ...empty, id: 1, ticker: 'N"W', extra: '{"other":[1]}' },
    { ...empty, id: 2, reach: 2n ** 60n + 1n, seen_at: Date.UTC(2026, 2, 1), topics: ["a", "b"] },
    // What does not fit its column stays where it was.
    { ...empty, id: 3, extra: '{"reach":"many"}' },
    { ...empty, id: 4 },
  ]);
  expect(await read("history")).toEqual([{ ...empty, id: 1, ticker: "OLD", extra: '{"other":[1]}' }]);

  // Columns that stand last now are no trouble for what is written afterwards.
  await commit([aSignal(4, { headline: "changed" })]);
  expect((await read("history")).length).toBe(2);
});
