// Postgres as a destination: statements of users, and what a schema holds, in one moment, in the form of `dumpOf`.
import pg from "pg";
import { TABLE_NAMES } from "../../src/catalog/tables.ts";
import { type Dump, textOfRow } from "./moving-mirror.ts";

/** Rows of a statement of a user. */
export const rowsIn = async (url: string, text: string): Promise<readonly Record<string, unknown>[]> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
};

/** Address of a lake whose catalog is this database. */
export const catalogIn = (url: string): string => {
  const { pathname, searchParams } = new URL(url);
  return `ducklake:postgres:dbname=${pathname.slice(1)} user=postgres host=${searchParams.get("host")}`;
};

/** A time as the mirror's queries show it: ISO 8601, UTC, microseconds where there are any. */
const isoOf = (column: string): string =>
  `CASE WHEN isfinite(${column}) THEN regexp_replace(to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '000$', '') || 'Z' ELSE ${column}::text END`;

const cellOf = (name: string, type: string): string => {
  const column = `t."${name}"`;
  if (type === "timestamp with time zone") return isoOf(column);
  return type === "bigint" || type === "json" ? `${column}::text` : column;
};

export const dumpPostgres = async (
  url: string,
  schema = "duckmirror",
): Promise<{ readonly position: string | null; readonly dump: Dump }> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const there = await client.query("SELECT to_regclass($1) IS NOT NULL AS found", [
      `"${schema}".duckmirror_position`,
    ]);
    if (there.rows[0]?.found !== true) return { position: null, dump: {} };
    const { rows: positions } = await client.query(`SELECT mirror, n, mark FROM "${schema}".duckmirror_position`);
    const dump: Record<string, { columns: readonly string[]; rows: readonly string[] }> = {};
    for (const table of TABLE_NAMES) {
      const { rows: columns } = await client.query<{ name: string; type: string }>(
        "SELECT column_name AS name, data_type AS type FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2 ORDER BY ordinal_position",
        [schema, table],
      );
      const cells = columns.map(({ name, type }) => cellOf(name, type));
      const { rows } = await client.query<unknown[]>({
        text: `SELECT ${cells.join(", ")} FROM "${schema}".${table} AS t`,
        rowMode: "array",
      });
      dump[table] = { columns: columns.map(({ name }) => name), rows: rows.map(textOfRow).sort() };
    }
    return { position: JSON.stringify(positions[0]), dump };
  } finally {
    await client.end();
  }
};
