// Reads one table of the snapshot for the page: the meaning of its columns from the catalog, how often each holds a value, and some rows.
import { z } from "zod";
import { catalogTables, type DictionaryTable } from "../../catalog/dictionary.ts";
import { quoted } from "../../core/text/sql-text.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { notFound } from "../http/refusals.ts";
import { perSnapshot, type Snapshot } from "../snapshots/snapshot.ts";

const SAMPLE_ROWS = 20;
/** Longest part of a value in the sample. */
const SAMPLE_CHARACTERS = 200;

export const readFunctions = perSnapshot(async (snapshot) =>
  (await snapshot.query(sqlText("server/functions.sql"), [], z.object({ name: z.string() }))).map(({ name }) => name),
);

const figures = perSnapshot(async () => new Map<string, ReturnType<typeof compute>>());
const texts = z.array(z.string().nullable());

const compute = async (snapshot: Snapshot, { schema, name, columns }: DictionaryTable) => {
  const from = `${schema}.${quoted(name)}`;
  const counts = columns.map((column) => `count(${quoted(column.name)})`).join(", ");
  const values = columns.map((column) => `left(CAST(${quoted(column.name)} AS VARCHAR), ${SAMPLE_CHARACTERS})`);
  const [filled] = await snapshot.query(
    `SELECT count(*) AS row_count, CAST(to_json([${counts}]) AS VARCHAR) AS counts FROM ${from}`,
    [],
    z.object({ row_count: z.number(), counts: z.string() }),
  );
  const sample = await snapshot.query(
    `SELECT CAST(to_json([${values.join(", ")}]) AS VARCHAR) AS sample FROM ${from} LIMIT ${SAMPLE_ROWS}`,
    [],
    z.object({ sample: z.string() }),
  );
  return {
    row_count: filled?.row_count ?? 0,
    filled: z.array(z.number()).parse(JSON.parse(filled?.counts ?? "[]")),
    sample: sample.map((row) => texts.parse(JSON.parse(row.sample))),
  };
};

/** One mirrored table: its dictionary entry, rows, filled values per column, and some rows as text. Throws a 404 refusal. */
export const readTable = async (snapshot: Snapshot, name: string) => {
  const table = catalogTables().find((one) => one.schema === "main" && one.name === name);
  if (table === undefined) throw notFound("such table");
  const known = await figures(snapshot);
  const computing = known.get(name) ?? compute(snapshot, table);
  known.set(name, computing);
  computing.catch(() => known.delete(name));
  return { table, ...(await computing) };
};
