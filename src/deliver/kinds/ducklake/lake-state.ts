// Stores the position of a delivery in the lake: one row per schema, or per organization of a shared schema, written in the
// transaction of the delivered rows.
import { z } from "zod";
import { literal } from "../../../core/text/sql-text.ts";
import type { ExtendedDuckdb } from "../../../warehouse/duckdb/extended/extended-duckdb.ts";
import type { Position } from "../../destination.ts";
import { LAKE } from "./lake-address.ts";
import { type LakePlace, lakePath, ORGANIZATION } from "./table-sql.ts";

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
