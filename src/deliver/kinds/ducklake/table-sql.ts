// Statements for one table of a lake. They are generated because the table varies; names come from the catalog. PURE.
import { literal, quoted } from "../../../core/text/sql-text.ts";
import { changedKeysSql } from "../../changed-keys.ts";
import type { DeliveredTable, Position } from "../../destination.ts";
import { LAKE } from "./lake-address.ts";

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
const snapshotTable = (name: string) => `${SNAPSHOT}.main.${quoted(name)}`;
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
  `INSERT INTO ${lakePath(place.schema, table.name)} BY NAME SELECT ${ownCell(place)}${columnsOf(table)} FROM ${snapshotTable(table.name)}`;

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
    LEFT JOIN (SELECT ${key}, true AS wanted FROM ${snapshotTable(table.name)}) AS w USING (${key})`;
};

/** The same for a table that is compared as a whole. */
export const movedByContentSql = (place: LakePlace, table: Table): string => {
  const key = list(table.key);
  const cells = columnsOf(table);
  const [lake, snapshot] = [ownRows(place, table.name), snapshotTable(table.name)];
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
  return `INSERT INTO ${lakePath(place.schema, table.name)} BY NAME SELECT ${ownCell(place)}${columnsOf(table)} FROM ${snapshotTable(table.name)}
    SEMI JOIN (SELECT ${key} FROM moved WHERE wanted) AS m USING (${key})`;
};
