// Reads and writes the position of a delivery in the lake: one row per schema, or per organization of a shared schema, in the transaction
// of the delivered rows.
import { z } from "zod";
import { literal } from "../../../core/text/sql-text.ts";
import type { ExtendedDuckdb } from "../../../warehouse/duckdb/extended/extended-duckdb.ts";
import { commentsOf, type DeliveredRows, type DeliveredTable, type Position } from "../../destination.ts";
import { LAKE } from "./lake-address.ts";
import * as sql from "./table-sql.ts";
import { type LakePlace, lakePath, ORGANIZATION } from "./table-sql.ts";

// Brings one table of a lake to the snapshot, inside the delivery's transaction. Rows that did not change are not written.

export interface BroughtTable {
  readonly rows: DeliveredRows;
  /** Rows of a person who was erased left the table. */
  readonly erased: boolean;
}

interface Bringing {
  readonly lake: ExtendedDuckdb;
  readonly place: sql.LakePlace;
  readonly table: DeliveredTable;
  readonly held: Held;
  readonly from: Position | null;
}

/** Tables from which `forget` removes values. It is not in the feed, so these come whole then. */
const HOLD_PERSONS = ["contacts", "usage_requests"];

const countRow = z.array(z.object({ Count: z.coerce.number() }));
const movedRow = z.array(z.object({ held: z.coerce.number(), written: z.coerce.number(), deleted: z.coerce.number() }));

const bringComments = async ({ lake, place: { schema }, table, held }: Bringing) => {
  const there = held.get(table.name);
  for (const { column, comment } of commentsOf(table)) {
    const found = column === null ? there?.comment : there?.columns.get(column);
    if (comment !== "" && comment !== found) await lake.run(sql.commentSql(schema, table.name, column, comment));
  }
};

const create = async ({ lake, place, table }: Bringing): Promise<void> => {
  for (const statement of sql.createSql(place, table)) await lake.run(statement);
};

const fill = async ({ lake, place, table }: Bringing): Promise<number> => {
  const [filled] = countRow.parse(await lake.run(sql.fillSql(place, table)));
  return filled?.Count ?? 0;
};

/** A new table: the catalog keeps least and greatest values of the old one until its snapshots are removed. */
const replace = async (bringing: Bringing): Promise<number> => {
  const { lake, place, table } = bringing;
  const isShared = place.organization !== null;
  if (isShared) await lake.run(sql.keepOthersSql(place, table));
  await lake.run(`DROP TABLE ${sql.lakePath(place.schema, table.name)}`);
  await create(bringing);
  if (isShared) await lake.run(sql.putOthersSql(place, table));
  const written = await fill(bringing);
  await bringComments({ ...bringing, held: new Map() });
  return written;
};

/** Brings the table; throws DuckDB's error. */
export const bringTable = async (bringing: Bringing): Promise<BroughtTable> => {
  const { lake, place, table, held, from } = bringing;
  const { name } = table;
  const done = (written: number, deleted: number, erased = false): BroughtTable => ({
    rows: { table: name, extent: table.extent, written, deleted },
    erased,
  });
  const there = held.get(name);
  if (there === undefined) {
    await create(bringing);
    const written = await fill(bringing);
    await bringComments(bringing);
    return done(written, 0);
  }
  const added = table.columns.filter((column) => !there.columns.has(column.name));
  for (const column of added) await lake.run(sql.addColumnSql(place.schema, name, column));
  await bringComments(bringing);
  const byFeed = table.extent === "changes" && added.length === 0 && from !== null;
  if (byFeed && table.changes === 0) return done(0, 0);
  await lake.run(byFeed ? sql.movedByFeedSql(place, table, from) : sql.movedByContentSql(place, table));
  const [moved] = movedRow.parse(await lake.run(sql.MOVED_COUNTS));
  const { held: old, written, deleted } = moved ?? { held: 0, written: 0, deleted: 0 };
  if (!byFeed && old > 0 && HOLD_PERSONS.includes(name)) return done(await replace(bringing), deleted, true);
  if (old > 0) await lake.run(sql.deleteMovedSql(place, table));
  if (written > 0) await lake.run(sql.insertMovedSql(place, table));
  return done(written, deleted);
};

/** Positions of a schema that one mirror fills, and of one that organizations share. */
const OWN_STATE = "_duckmirror";
const SHARED_STATE = "_duckmirror_shared";

export const stateTable = ({ organization }: LakePlace): string => (organization === null ? OWN_STATE : SHARED_STATE);
/** The table that a schema of the other form has. */
export const otherStateTable = ({ organization }: LakePlace): string =>
  organization === null ? SHARED_STATE : OWN_STATE;

export interface LakeState {
  readonly position: Position;
  /** Digest of the views. */
  readonly views: string;
  /** Rows of erased persons are still in files of earlier snapshots. */
  readonly erasing: boolean;
  /** Last cleaning, ms since the epoch. */
  readonly maintainedAt: number;
}

const row = z.object({
  mirror: z.string(),
  n: z.coerce.number(),
  mark: z.string(),
  views: z.string(),
  erasing: z.boolean(),
  maintained_ms: z.coerce.number(),
});
const columnRow = z.object({
  table_name: z.string(),
  column_name: z.string(),
  comment: z.string().nullable(),
  table_comment: z.string().nullable(),
});

export type Held = ReadonlyMap<string, { comment: string | null; columns: Map<string, string | null> }>;

/** Tables of the schema in the lake, their columns, and comments. */
export const readHeld = async (lake: ExtendedDuckdb, schema: string): Promise<Held> => {
  const rows = await lake.run(`SELECT c.table_name, c.column_name, c.comment, t.comment AS table_comment
    FROM duckdb_columns() AS c JOIN duckdb_tables() AS t USING (database_name, schema_name, table_name)
    WHERE c.database_name = '${LAKE}' AND c.schema_name = ${literal(schema)}`);
  const held = new Map<string, { comment: string | null; columns: Map<string, string | null> }>();
  for (const one of z.array(columnRow).parse(rows)) {
    const table = held.get(one.table_name) ?? { comment: one.table_comment, columns: new Map() };
    held.set(one.table_name, table);
    table.columns.set(one.column_name, one.comment);
  }
  return held;
};

const whereOwn = ({ organization }: LakePlace): string =>
  organization === null ? "" : ` WHERE ${ORGANIZATION} = ${literal(organization)}`;

const pathOf = (place: LakePlace): string => lakePath(place.schema, stateTable(place));

/** Null: duckmirror has delivered nothing to this place. */
export const readState = async (lake: ExtendedDuckdb, place: LakePlace, held: Held): Promise<LakeState | null> => {
  if (!held.has(stateTable(place))) return null;
  const [found] = z.array(row).parse(await lake.run(`FROM ${pathOf(place)}${whereOwn(place)}`));
  if (found === undefined) return null;
  const { mirror, n, mark, views, erasing, maintained_ms: maintainedAt } = found;
  return { position: { mirror, n, mark }, views, erasing, maintainedAt };
};

export const createStateSql = (place: LakePlace): string => `CREATE TABLE ${pathOf(place)}
  (${place.organization === null ? "" : `${ORGANIZATION} VARCHAR, `}mirror VARCHAR, n BIGINT, mark VARCHAR, views VARCHAR, erasing BOOLEAN, maintained_ms BIGINT)`;

export const writeStateSql = (place: LakePlace, state: LakeState): readonly string[] => {
  const { position, views, erasing, maintainedAt } = state;
  const own = place.organization === null ? [] : [literal(place.organization)];
  const cells = [
    ...own,
    literal(position.mirror),
    position.n,
    literal(position.mark),
    literal(views),
    erasing,
    maintainedAt,
  ];
  return [
    `DELETE FROM ${pathOf(place)}${whereOwn(place)}`,
    `INSERT INTO ${pathOf(place)} VALUES (${cells.join(", ")})`,
  ];
};

/** Changes a cell of the row. */
export const setStateSql = (place: LakePlace, set: string): string =>
  `UPDATE ${pathOf(place)} SET ${set}${whereOwn(place)}`;

/** This one table may hold its row in the catalog, where it costs no file. */
export const inlineStateSql = (place: LakePlace): string =>
  `CALL ${LAKE}.set_option('data_inlining_row_limit', 10, schema => ${literal(place.schema)}, table_name => '${stateTable(place)}')`;

/** No row: nobody chose how the lake's files are compressed. */
export const COMPRESSION_SQL = `SELECT value FROM ${LAKE}.options() WHERE option_name = 'parquet_compression'`;

/**
 * Half the bytes of DuckLake's own choice (Snappy). Of the whole lake: a schema that is not committed yet takes no
 * options.
 */
export const COMPRESS_SQL = `CALL ${LAKE}.set_option('parquet_compression', 'zstd')`;
