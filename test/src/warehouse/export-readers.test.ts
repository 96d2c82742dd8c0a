import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { TABLE_NAMES } from "../../../src/catalog/tables.ts";
import { openWorld } from "../../../src/sandbox/sandbox.ts";
import { type Database, openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import { exportSnapshot } from "../../../src/warehouse/export/export.ts";
import { MANIFEST_NAME, readManifest } from "../../../src/warehouse/export/manifest.ts";
import { applyViews } from "../../../src/warehouse/file/views.ts";
import { readWithArrow, readWithHyparquet } from "./parquet-readers.ts";
import { tempDir } from "./temp-dir.ts";

const NOW = Date.UTC(2025, 5, 1);
const columnRow = z.object({ name: z.string(), type: z.string() });
const anyRow = z.record(z.string(), z.unknown());

/** DuckDB's type → how hyparquet and Arrow name what is in the file. */
const TYPES: Readonly<Record<string, readonly [hyparquet: string, arrow: string]>> = {
  VARCHAR: ["UTF8", "Utf8"],
  BIGINT: ["INT_64", "Int64"],
  INTEGER: ["INT_32", "Int32"],
  DOUBLE: ["DOUBLE", "Float64"],
  BOOLEAN: ["BOOLEAN", "Bool"],
  JSON: ["UTF8", "Utf8"],
  "TIMESTAMP WITH TIME ZONE": ["UTC micros", "Timestamp<MICROSECOND, UTC>"],
  "VARCHAR[]": ["LIST of UTF8", "List<Utf8>"],
};

/** Values no reader may bend: beyond 2^53, single microseconds, before 1970, empty and missing things, odd text. */
const ODD_ROWS = `
  INSERT INTO main.signals (id, account_id, headline, description, date, sources, matching_keywords, relevance, _synced_at, _extra) VALUES
    (-9223372036854775807, 9007199254740993, '', NULL, '1969-12-31 23:59:59.999999+00', [], ['', NULL, 'ü,"'], '{"a":  [1, null]}', '2025-01-01 00:00:00.000001+00', 'null'),
    (9223372036854775807, 0, 'zero \\0 🦆 \n', '''', '9999-12-31 23:59:59+00', NULL, [NULL], '12345678901234567890', '2025-01-01', '"text"');
  INSERT INTO main.accounts (id, main_score, priority) VALUES (1, '-0.0', -2147483648), (2, 1.7976931348623157e308, 2147483647), (3, 5e-324, NULL);
  INSERT INTO main.usage_requests (id, successful) VALUES (1, true), (2, false), (3, NULL);
  INSERT INTO history.accounts (id, name, valid_from, valid_to, change) VALUES (1, 'before', '2025-01-01', '2025-02-01', 'update');`;

/** What the table holds, in the words both readers use; in the order of its text. */
const rowsOf = async (database: Database, path: string, columns: readonly z.output<typeof columnRow>[]) => {
  const cells = columns.map(({ name, type }) =>
    type === "TIMESTAMP WITH TIME ZONE" ? `epoch_us("${name}") AS "${name}"` : `"${name}"`,
  );
  return database.query(`SELECT ${cells.join(", ")} FROM ${path}`, [], anyRow);
};

/** Rows as sorted text, every integer with all digits. */
const comparable = (rows: readonly Readonly<Record<string, unknown>>[]) =>
  rows
    .map((row) =>
      JSON.stringify(row, (_, value: unknown) => {
        if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
        return Object.is(value, -0) ? "-0" : value;
      }),
    )
    .sort();

test("two independent readers find every row, value and type of every table, while an export runs beside them", async () => {
  const dir = tempDir();
  const world = await openWorld({ seed: 11, accounts: 4, now: NOW, bigIds: true, threads: 1, dir });
  await applyViews(world.database, NOW);
  await world.database.run(ODD_ROWS);
  await world.close();
  const snapshot = join(dir, "sandbox.duckdb");
  const target = join(dir, "export");
  const exporting = () =>
    exportSnapshot({
      snapshot,
      dir: target,
      format: "parquet",
      tables: ["main", "history.accounts"],
      since: null,
      guardFormulas: false,
    });
  await exporting();
  const manifest = await readManifest(target);
  // Without a manifest every file is written again: all are replaced while the readers read.
  rmSync(join(target, MANIFEST_NAME));
  const beside = exportSnapshot({
    snapshot,
    dir: target,
    format: "parquet",
    tables: ["main", "history", "marts"],
    since: null,
    guardFormulas: false,
  });

  const database = await openDatabase(snapshot, { readOnly: true });
  onTestFinished(() => database.close());
  const tables = [...new Set(manifest?.files.map(({ table }) => table))];
  expect(tables).toEqual(expect.arrayContaining([...TABLE_NAMES]));
  for (const table of tables) {
    const path = table.includes(".") ? table : `main.${table}`;
    const columns = await database.query(
      `SELECT column_name AS name, data_type AS type FROM duckdb_columns() WHERE schema_name || '.' || table_name = $1 ORDER BY column_index`,
      [path],
      columnRow,
    );
    const files = (manifest?.files ?? [])
      .filter((entry) => entry.table === table)
      .map(({ file }) => join(target, file));
    const read = await Promise.all(
      files.map(async (file) => [await readWithHyparquet(file), readWithArrow(file)] as const),
    );
    for (const [hyparquet, arrow] of read) {
      expect(hyparquet.types).toEqual(Object.fromEntries(columns.map(({ name, type }) => [name, TYPES[type]?.[0]])));
      expect(arrow.types).toEqual(Object.fromEntries(columns.map(({ name, type }) => [name, TYPES[type]?.[1]])));
    }
    const expected = comparable(await rowsOf(database, path, columns));
    expect(comparable(read.flatMap(([hyparquet]) => hyparquet.rows))).toEqual(expected);
    expect(comparable(read.flatMap(([, arrow]) => arrow.rows))).toEqual(expected);
  }
  expect((await beside).kept).toBe(0);
});
