// Measures how rows best get into DuckDB (docs/decisions/loading.md). Run: npx tsx bench/load-paths.ts [rows in table]
// Candidates take turns, five rounds each; medians of wall and CPU time in ms, ratios of CPU time.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  BIGINT,
  DOUBLE,
  type DuckDBConnection,
  DuckDBDataChunk,
  DuckDBInstance,
  DuckDBTimestampTZValue,
  type DuckDBType,
  type DuckDBValue,
  INTEGER,
  LIST,
  listValue,
  TIMESTAMPTZ,
  VARCHAR,
} from "@duckdb/node-api";
import type { ColumnType } from "../src/catalog/fields.ts";
import { tableSpec } from "../src/catalog/tables.ts";

const ROUNDS = 5;
const spec = tableSpec("signals");
const columns = spec.fields.map(({ column, columnType }) => ({ name: `"${column}"`, type: columnType }));
const duckTypes: Record<ColumnType, DuckDBType> = {
  VARCHAR,
  BIGINT,
  INTEGER,
  DOUBLE,
  BOOLEAN: INTEGER,
  TIMESTAMPTZ,
  JSON: VARCHAR,
  "VARCHAR[]": LIST(VARCHAR),
};

/** A value of about 120 bytes (text) that differs per row; `version` makes the row a changed one. */
const cellOf = (type: ColumnType, name: string, row: number, version: number): DuckDBValue => {
  const word = `${name} ${(row * 2_654_435_761) % 4_294_967_296} v${version} `;
  if (name === '"id"') return BigInt(row);
  if (type === "BIGINT") return BigInt(row % 2000);
  if (type === "TIMESTAMPTZ") return new DuckDBTimestampTZValue(1_700_000_000_000_000n + BigInt(row) * 60_000_000n);
  if (type === "JSON") return JSON.stringify({ why: word.repeat(4), score: row % 100, tags: [word, "b"] });
  if (type === "VARCHAR[]") return listValue([`https://a.example/${row}`, word]);
  return word.repeat(name === '"full_content"' ? 16 : 3);
};
const rowsOf = (from: number, count: number, version: number): DuckDBValue[][] =>
  Array.from({ length: count }, (_, i) => columns.map(({ name, type }) => cellOf(type, name, from + i, version)));

const jsonCell = (value: DuckDBValue): string => {
  if (typeof value === "bigint") return String(value);
  if (value instanceof DuckDBTimestampTZValue) return String(value.micros);
  if (typeof value === "object" && value !== null && "items" in value) return JSON.stringify(value.items);
  return JSON.stringify(value);
};
const jsonRow = (row: readonly DuckDBValue[]) =>
  `{${row.map((value, i) => `${JSON.stringify(`c${i}`)}:${jsonCell(value)}`).join(",")}}`;
const jsonType = ({ type }: (typeof columns)[number]) =>
  type === "TIMESTAMPTZ" ? "BIGINT" : type === "JSON" ? "VARCHAR" : type;
const picked = columns
  .map(({ type }, i) => (type === "TIMESTAMPTZ" ? `make_timestamptz(r.c${i})` : `r.c${i}`))
  .join(", ");

type Way = (connection: DuckDBConnection, rows: DuckDBValue[][], dir: string) => Promise<void>;
const staging: Record<string, Way> = {
  "appender, row by row": async (connection, rows) => {
    const appender = await connection.createAppender("stage");
    for (const row of rows) {
      row.forEach((value, i) => {
        appender.appendValue(value, duckTypes[columns[i]?.type ?? "VARCHAR"]);
      });
      appender.endRow();
    }
    appender.closeSync();
  },
  "data chunks, column by column": async (connection, rows) => {
    const types = columns.map(({ type }) => duckTypes[type]);
    const appender = await connection.createAppender("stage");
    for (let at = 0; at < rows.length; at += 2048) {
      const part = rows.slice(at, at + 2048);
      const chunk = DuckDBDataChunk.create(types, part.length);
      chunk.setColumns(columns.map((_, i) => part.map((row) => row[i] ?? null)));
      appender.appendDataChunk(chunk);
    }
    appender.closeSync();
  },
  "one JSON parameter, from_json": async (connection, rows) => {
    const shape = JSON.stringify([
      Object.fromEntries(
        columns.map((column, i) => [`c${i}`, column.type === "VARCHAR[]" ? ["VARCHAR"] : jsonType(column)]),
      ),
    ]);
    await connection.run(`INSERT INTO stage SELECT ${picked} FROM (SELECT unnest(from_json(?, '${shape}')) AS r)`, [
      `[${rows.map(jsonRow).join(",")}]`,
    ]);
  },
  "one JSON array per column": async (connection, rows) => {
    const arrays = columns.map((_, i) => `[${rows.map((row) => jsonCell(row[i] ?? null)).join(",")}]`);
    const lists = columns.map((column, i) => {
      const list = `unnest(from_json($${i + 1}, '${JSON.stringify([jsonType(column) === "VARCHAR[]" ? ["VARCHAR"] : jsonType(column)])}'))`;
      return column.type === "TIMESTAMPTZ" ? `make_timestamptz(${list})` : list;
    });
    await connection.run(`INSERT INTO stage SELECT ${lists.join(", ")}`, arrays);
  },
  "NDJSON file, read_json": async (connection, rows, dir) => {
    const file = join(dir, "batch.ndjson");
    writeFileSync(file, rows.map(jsonRow).join("\n"));
    const shape = columns.map((column, i) => `c${i}: '${jsonType(column)}'`).join(", ");
    await connection.run(
      `INSERT INTO stage SELECT ${picked} FROM read_json('${file}', format = 'newline_delimited', columns = {${shape}}) r`,
    );
  },
};

const assignments = (source: string) =>
  columns
    .slice(1)
    .map(({ name }) => `${name} = ${source}.${name}`)
    .join(", ");
const merging = (table: string, keyed: boolean): Record<string, string> => ({
  ...(keyed
    ? {
        "ON CONFLICT": `INSERT INTO ${table} SELECT * FROM stage ON CONFLICT ("id") DO UPDATE SET ${assignments("excluded")}`,
      }
    : {}),
  MERGE: `MERGE INTO ${table} AS t USING stage s ON t.id = s.id
          WHEN MATCHED THEN UPDATE SET ${assignments("s")} WHEN NOT MATCHED THEN INSERT`,
  "delete by key, insert": `DELETE FROM ${table} WHERE id IN (SELECT id FROM stage); INSERT INTO ${table} SELECT * FROM stage`,
});

const median = (times: readonly number[]) => [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;

const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

const report = async (title: string, ways: Record<string, () => Promise<void>>, after: () => Promise<void>) => {
  const walls = new Map<string, number[]>();
  const cpus = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, way] of Object.entries(ways)) {
      const [start, cpuStart] = [performance.now(), cpuMs()];
      await way();
      walls.set(name, [...(walls.get(name) ?? []), performance.now() - start]);
      cpus.set(name, [...(cpus.get(name) ?? []), cpuMs() - cpuStart]);
      await after();
    }
  }
  // CPU time of all threads is what counts on a machine that does other work beside.
  const best = Math.min(...[...cpus.values()].map(median));
  for (const [name, list] of walls) {
    const [wall, cpu] = [median(list), median(cpus.get(name) ?? [])];
    const figures = `${wall.toFixed(1).padStart(9)} ms  cpu ${cpu.toFixed(1).padStart(8)} ms  x${(cpu / best).toFixed(1)}`;
    process.stdout.write(`${title.padEnd(28)} ${name.padEnd(32)} ${figures}\n`);
  }
};

const main = async (tableRows: number) => {
  const dir = mkdtempSync(join(tmpdir(), "duckmirror-load-paths-"));
  const instance = await DuckDBInstance.create(join(dir, "bench.duckdb"), { storage_compatibility_version: "v1.2.0" });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  const body = columns.map(({ name, type }) => `${name} ${type === "JSON" ? "VARCHAR" : type}`).join(", ");
  await connection.run(
    `CREATE TEMP TABLE stage (${body}); CREATE TABLE keyed (${body}, PRIMARY KEY (id)); CREATE TABLE bare (${body})`,
  );

  const first = rowsOf(0, 10_000, 0);
  process.stdout.write(
    `rows of ${Math.round(jsonRow(first[0] ?? []).length)} bytes as JSON, ${tableRows} in the table\n`,
  );
  for (const batch of [100, 1000, 10_000]) {
    const rows = first.slice(0, batch);
    const ways = Object.entries(staging).map(([name, way]) => [name, () => way(connection, rows, dir)] as const);
    await report(
      `stage ${batch}`,
      Object.fromEntries(ways),
      async () => void (await connection.run("DELETE FROM stage")),
    );
  }

  await staging["data chunks, column by column"]?.(connection, first, dir);
  for (let at = 0; at < tableRows; at += 10_000) {
    const shifted = `SELECT id + ${at}, * EXCLUDE (id) FROM stage`;
    await connection.run(`INSERT INTO keyed ${shifted}; INSERT INTO bare ${shifted}`);
  }
  await connection.run("CHECKPOINT");
  for (const batch of [100, 1000, 10_000]) {
    await connection.run("DELETE FROM stage");
    await staging["data chunks, column by column"]?.(connection, rowsOf(tableRows - batch, batch, 1), dir);
    for (const table of ["keyed", "bare"]) {
      const ways = Object.entries(merging(table, table === "keyed")).map(
        ([name, sql]) => [name, async () => void (await connection.run(`BEGIN; ${sql}`))] as const,
      );
      const title = `merge ${batch}, ${table === "keyed" ? "PRIMARY KEY" : "no key"}`;
      await report(title, Object.fromEntries(ways), async () => void (await connection.run("ROLLBACK")));
    }
  }
  connection.closeSync();
  instance.closeSync();
  rmSync(dir, { recursive: true, force: true });
};

await main(Number(process.argv[2] ?? 100_000));
