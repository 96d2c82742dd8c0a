// What duckmirror notes in a lake: one row per schema with the position, written in the transaction of the rows.
import { z } from "zod";
import { literal } from "../../../core/text/sql-text.ts";
import type { ExtendedDuckdb } from "../../../warehouse/duckdb/extended/extended-duckdb.ts";
import type { Position } from "../../destination.ts";
import { LAKE } from "./lake-address.ts";
import { lakePath } from "./table-sql.ts";

export const STATE_TABLE = "_duckmirror";

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

/** Null: duckmirror has delivered nothing to this schema. */
export const readState = async (lake: ExtendedDuckdb, schema: string, held: Held): Promise<LakeState | null> => {
  if (!held.has(STATE_TABLE)) return null;
  const [found] = z.array(row).parse(await lake.run(`FROM ${lakePath(schema, STATE_TABLE)}`));
  if (found === undefined) return null;
  const { mirror, n, mark, views, erasing, maintained_ms: maintainedAt } = found;
  return { position: { mirror, n, mark }, views, erasing, maintainedAt };
};

export const createStateSql = (schema: string): string => `CREATE TABLE ${lakePath(schema, STATE_TABLE)}
  (mirror VARCHAR, n BIGINT, mark VARCHAR, views VARCHAR, erasing BOOLEAN, maintained_ms BIGINT)`;

export const writeStateSql = (schema: string, state: LakeState): readonly string[] => {
  const { position, views, erasing, maintainedAt } = state;
  const cells = [literal(position.mirror), position.n, literal(position.mark), literal(views), erasing, maintainedAt];
  const path = lakePath(schema, STATE_TABLE);
  return [`DELETE FROM ${path}`, `INSERT INTO ${path} VALUES (${cells.join(", ")})`];
};

/** This one table may hold its row in the catalog, where it costs no file. */
export const inlineStateSql = (schema: string): string =>
  `CALL ${LAKE}.set_option('data_inlining_row_limit', 10, schema => ${literal(schema)}, table_name => '${STATE_TABLE}')`;
