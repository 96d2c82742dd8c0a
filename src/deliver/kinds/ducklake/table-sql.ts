// SQL of a delivery to a lake, for one table: creates it, adds columns, replaces changed rows. Generated, because the table varies; names
// come from the catalog. PURE.

import { createHash } from "node:crypto";
import { z } from "zod";
import { literal, quoted } from "../../../core/text/sql-text.ts";
import type { ExtendedDuckdb } from "../../../warehouse/duckdb/extended/extended-duckdb.ts";
import type { DeliveredTable, Position } from "../../destination.ts";
import { isLeftOutSql } from "../../left-out.ts";
import { changedKeysSql } from "../../position-mark.ts";
import { LAKE } from "./lake-address.ts";

// The analysts' views in a lake: those that need tables of schema main only. History and duckmirror's own tables are not
// delivered.

const viewRow = z.object({ view_name: z.string(), sql: z.string() });

interface LakeViews {
  readonly digest: string;
  readonly statements: readonly string[];
}

export const NO_VIEWS: LakeViews = { digest: "none", statements: [] };

/** Schema of the views beside the tables' schema. */
export const viewsSchema = (schema: string): string => (schema === "main" ? "marts" : `${schema}_marts`);

const OUTSIDE = /\b(?:history|sync)\."?\w/;

/** Views whose tables are all delivered, in the order in which they can be made. PURE. */
export const possibleViews = <T extends { readonly view_name: string; readonly sql: string }>(
  views: readonly T[],
  tables: readonly string[],
): readonly T[] => {
  const uses = (schema: string, sql: string) =>
    [...sql.matchAll(new RegExp(`\\b${schema}\\."?(\\w+)\\b"?(?!\\()`, "g"))].flatMap(([, name]) =>
      name === undefined ? [] : [name],
    );
  const made: T[] = [];
  for (let left = views.filter(({ sql }) => !OUTSIDE.test(sql)); ; ) {
    const ready = left.filter(
      ({ view_name: name, sql }) =>
        uses("main", sql).every((table) => tables.includes(table)) &&
        uses("marts", sql).every((view) => view === name || made.some((one) => one.view_name === view)),
    );
    if (ready.length === 0) return made;
    made.push(...ready);
    left = left.filter((one) => !ready.includes(one));
  }
};

const bodyOf = (sql: string): string => /^CREATE VIEW .*?\bAS\b(.*?);?$/s.exec(sql.trim())?.[1] ?? "";

/** DuckDB cannot plan the text that it keeps of some views. Such a view must not fail a delivery. */
const canBePlanned = (lake: ExtendedDuckdb, sql: string): Promise<boolean> =>
  lake.run(`EXPLAIN ${bodyOf(sql)}`).then(
    () => true,
    () => false,
  );

/** Statements that make the views over `tables` of `schema`. */
export const readViews = async (
  lake: ExtendedDuckdb,
  schema: string,
  tables: readonly string[],
): Promise<LakeViews> => {
  const rows = await lake.run(`SELECT view_name, sql FROM duckdb_views()
    WHERE database_name = '${SNAPSHOT}' AND schema_name = 'marts' ORDER BY view_name`);
  const to = viewsSchema(schema);
  await lake.run(`USE ${SNAPSHOT}`);
  const planned: z.output<typeof viewRow>[] = [];
  for (const view of z.array(viewRow).parse(rows)) if (await canBePlanned(lake, view.sql)) planned.push(view);
  await lake.run("USE memory");
  const statements = possibleViews(planned, tables).flatMap(({ view_name: name, sql }) => {
    const select = bodyOf(sql)
      // DuckDB writes some functions with their schema.
      .replace(/\bmain\.(\w+\()/g, "$1")
      .replace(/\bmain\./g, `${quoted(schema)}.`)
      .replace(/\bmarts\./g, `${quoted(to)}.`);
    return [`DROP VIEW IF EXISTS ${lakePath(to, name)}`, `CREATE VIEW ${lakePath(to, name)} AS ${select}`];
  });
  return { digest: createHash("sha256").update(statements.join()).digest("hex").slice(0, 12), statements };
};

/** Name under which the snapshot is attached. */
export const SNAPSHOT = "warehouse";

type Table = Pick<DeliveredTable, "name" | "key" | "columns">;

/** Where the tables of a mirror are. `organization` null: its tables are its own. */
export interface LakePlace {
  readonly schema: string;
  readonly organization: string | null;
}

/** Column of shared tables. */
export const ORGANIZATION = "organization";

export const lakePath = (schema: string, name: string): string => `${LAKE}.${quoted(schema)}.${quoted(name)}`;
/** Rows of the place's organization in a table of the lake. */
const ownRows = ({ schema, organization }: LakePlace, name: string): string =>
  organization === null
    ? lakePath(schema, name)
    : `(FROM ${lakePath(schema, name)} WHERE ${ORGANIZATION} = ${literal(organization)})`;
/** What a SELECT of the snapshot's columns gains in shared tables. */
const ownCell = ({ organization }: LakePlace): string =>
  organization === null ? "" : `${literal(organization)} AS ${ORGANIZATION}, `;
/**
 * Rows of the snapshot that the lake holds. DuckLake writes a key with U+0000 into its catalog only up to that character: a
 * filter by keys then fails or passes over the file.
 */
const snapshotTable = (table: Table) =>
  `(FROM ${SNAPSHOT}.main.${quoted(table.name)} AS t WHERE NOT ${isLeftOutSql(table, "t", null)})`;
const list = (names: readonly string[]) => names.map(quoted).join(", ");
const columnsOf = ({ columns }: Table) => list(columns.map(({ name }) => name));

/** Tables that are divided by month, as the export divides them, and the columns that sort a file. */
const MONTH_OF: Readonly<Record<string, string>> = { signals: "date" };

export const createSql = ({ schema, organization }: LakePlace, { name, key, columns }: Table): readonly string[] => {
  const path = lakePath(schema, name);
  const isShared = organization !== null;
  const cells = columns.map(
    (column) => `${quoted(column.name)} ${column.type}${key.includes(column.name) ? " NOT NULL" : ""}`,
  );
  const month = MONTH_OF[name];
  const months = month === undefined ? [] : [`year(${quoted(month)})`, `month(${quoted(month)})`];
  const parts = [...(isShared ? [ORGANIZATION] : []), ...months];
  return [
    `CREATE TABLE ${path} (${[...(isShared ? [`${ORGANIZATION} VARCHAR NOT NULL`] : []), ...cells].join(", ")})`,
    ...(parts.length === 0 ? [] : [`ALTER TABLE ${path} SET PARTITIONED BY (${parts.join(", ")})`]),
    ...(month === undefined ? [] : [`ALTER TABLE ${path} SET SORTED BY (${list([month, ...key])})`]),
  ];
};

export const addColumnSql = (schema: string, table: string, column: { readonly name: string; readonly type: string }) =>
  `ALTER TABLE ${lakePath(schema, table)} ADD COLUMN ${quoted(column.name)} ${column.type}`;

export const commentSql = (schema: string, table: string, column: string | null, comment: string): string =>
  column === null
    ? `COMMENT ON TABLE ${lakePath(schema, table)} IS ${literal(comment)}`
    : `COMMENT ON COLUMN ${lakePath(schema, table)}.${quoted(column)} IS ${literal(comment)}`;

/** Every row, for a table in which the place has none. */
export const fillSql = (place: LakePlace, table: Table): string =>
  `INSERT INTO ${lakePath(place.schema, table.name)} BY NAME SELECT ${ownCell(place)}${columnsOf(table)} FROM ${snapshotTable(table)}`;

/** Rows of other organizations, kept while their table is made anew. */
export const keepOthersSql = ({ schema, organization }: LakePlace, { name }: Table): string =>
  `CREATE OR REPLACE TEMP TABLE others AS FROM ${lakePath(schema, name)} WHERE ${ORGANIZATION} <> ${literal(organization ?? "")}`;
export const putOthersSql = ({ schema }: LakePlace, { name }: Table): string =>
  `INSERT INTO ${lakePath(schema, name)} BY NAME FROM others`;

/** Keys that changed since `from`, with where they have a row: `held` in the lake, `wanted` in the snapshot. */
export const movedByFeedSql = (place: LakePlace, table: Table, from: Position): string => {
  const key = list(table.key);
  return `CREATE OR REPLACE TEMP TABLE moved AS
    SELECT ${key}, coalesce(h.held, false) AS held, coalesce(w.wanted, false) AS wanted
    FROM (${changedKeysSql(table, from, SNAPSHOT)}) AS k
    LEFT JOIN (SELECT ${key}, true AS held FROM ${ownRows(place, table.name)}) AS h USING (${key})
    LEFT JOIN (SELECT ${key}, true AS wanted FROM ${snapshotTable(table)}) AS w USING (${key})
    WHERE NOT ${isLeftOutSql(table, "k", null)}`;
};

/** The same for a table that is compared as a whole. */
export const movedByContentSql = (place: LakePlace, table: Table): string => {
  const key = list(table.key);
  const cells = columnsOf(table);
  const [lake, snapshot] = [ownRows(place, table.name), snapshotTable(table)];
  return `CREATE OR REPLACE TEMP TABLE moved AS
    SELECT ${key}, bool_or(held) AS held, bool_or(wanted) AS wanted FROM (
      SELECT ${key}, true AS held, false AS wanted FROM (SELECT ${cells} FROM ${lake} EXCEPT SELECT ${cells} FROM ${snapshot})
      UNION ALL
      SELECT ${key}, false AS held, true AS wanted FROM (SELECT ${cells} FROM ${snapshot} EXCEPT SELECT ${cells} FROM ${lake})
    ) GROUP BY ${key}`;
};

export const MOVED_COUNTS = `SELECT count(*) FILTER (WHERE held) AS held, count(*) FILTER (WHERE wanted) AS written,
  count(*) FILTER (WHERE held AND NOT wanted) AS deleted FROM moved`;

export const deleteMovedSql = ({ schema, organization }: LakePlace, { name, key }: Table): string =>
  `DELETE FROM ${lakePath(schema, name)} AS t WHERE ${organization === null ? "" : `t.${ORGANIZATION} = ${literal(organization)} AND `}EXISTS (
    SELECT 1 FROM moved AS m WHERE m.held AND ${key.map((column) => `m.${quoted(column)} = t.${quoted(column)}`).join(" AND ")})`;

export const insertMovedSql = (place: LakePlace, table: Table): string => {
  const key = list(table.key);
  return `INSERT INTO ${lakePath(place.schema, table.name)} BY NAME SELECT ${ownCell(place)}${columnsOf(table)} FROM ${snapshotTable(table)}
    SEMI JOIN (SELECT ${key} FROM moved WHERE wanted) AS m USING (${key})`;
};
