// Brings one table of a lake to the snapshot, inside the delivery's transaction. Rows that did not change are not written.
import { z } from "zod";
import { catalogTables, commentOf } from "../../../catalog/dictionary.ts";
import type { ExtendedDuckdb } from "../../../warehouse/duckdb/extended/extended-duckdb.ts";
import type { DeliveredRows, DeliveredTable, Position } from "../../destination.ts";
import type { Held } from "./lake-state.ts";
import * as sql from "./table-sql.ts";

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

const wantedComments = ({ name, columns }: DeliveredTable) => {
  const described = catalogTables().find((table) => table.schema === "main" && table.name === name);
  const ofColumns = columns.flatMap(({ name: column }) => {
    const known = described?.columns.find((one) => one.name === column);
    return known === undefined ? [] : [{ column, comment: commentOf(known) }];
  });
  return [{ column: null, comment: described?.grain ?? "" }, ...ofColumns];
};

const bringComments = async ({ lake, place: { schema }, table, held }: Bringing) => {
  const there = held.get(table.name);
  for (const { column, comment } of wantedComments(table)) {
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
