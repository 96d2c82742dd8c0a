// A destination that is a map: takes what the source offers, as every kind must.
import { z } from "zod";
import {
  type DeliveredTable,
  type DeliverySource,
  type Destination,
  isSamePosition,
  type Position,
} from "../../../src/deliver/destination.ts";
import { changedKeysSql } from "../../../src/deliver/position-mark.ts";
import { openSource, type Recipient } from "../../../src/deliver/source.ts";
import { type Database, openDatabase } from "../../../src/warehouse/duckdb/database.ts";

const jsonRow = z.object({ key: z.string(), row: z.string() });
const keyRow = z.object({ key: z.string() });

/** Table → key → row, as JSON text. */
export interface CopyOfMirror {
  position: Position | null;
  readonly tables: Map<string, Map<string, string>>;
  /** What the last delivery was made of. */
  offered: readonly DeliveredTable[];
}

export const emptyCopy = (): CopyOfMirror => ({ position: null, tables: new Map(), offered: [] });

const keyJson = (key: readonly string[], alias: string) =>
  `CAST(json_array(${key.map((column) => `${alias}."${column}"`).join(", ")}) AS VARCHAR)`;

const bringTable = async (database: Database, table: DeliveredTable, copy: CopyOfMirror) => {
  const rows = copy.tables.get(table.name) ?? new Map<string, string>();
  copy.tables.set(table.name, rows);
  const select = `SELECT ${keyJson(table.key, "t")} AS key, CAST(to_json(t) AS VARCHAR) AS row FROM main.${table.name} AS t`;
  if (table.extent === "whole" || copy.position === null) {
    rows.clear();
    for (const { key, row } of await database.query(select, [], jsonRow)) rows.set(key, row);
    return;
  }
  const keys = changedKeysSql(table, copy.position, "warehouse");
  const changed = await database.query(`SELECT ${keyJson(table.key, "k")} AS key FROM (${keys}) AS k`, [], keyRow);
  for (const { key } of changed) rows.delete(key);
  for (const { key, row } of await database.query(
    `${select} SEMI JOIN (${keys}) USING (${table.key.join(", ")})`,
    [],
    jsonRow,
  )) {
    rows.set(key, row);
  }
};

/** Brings the copy to a source. */
export const bringTo = async (source: DeliverySource, copy: CopyOfMirror): Promise<void> => {
  copy.offered = await source.tablesSince(copy.position);
  const database = await openDatabase(source.snapshot, { readOnly: true });
  try {
    for (const table of copy.offered) await bringTable(database, table, copy);
  } finally {
    await database.close();
  }
  copy.position = source.position;
};

/** Brings the copy to the published snapshot. */
export const bring = async (dataDir: string, copy: CopyOfMirror, more: Partial<Recipient> = {}): Promise<void> => {
  const source = await openSource({ dataDir, now: Date.now() });
  try {
    await bringTo(await source.sourceFor({ name: "copy", tables: [], takeOver: false, ...more }), copy);
  } finally {
    await source.close();
  }
};

/** Tables of the last delivery that were brought whole. */
export const wholeIn = ({ offered }: CopyOfMirror): readonly string[] =>
  offered.filter(({ extent }) => extent === "whole").map(({ name }) => name);

/** A destination that is a map; `fault`: throws what a delivery is to fail with. */
export const mapDestination = (copy: CopyOfMirror, fault: () => void = () => undefined): Destination => ({
  position: async () => copy.position,
  deliver: async (source) => {
    fault();
    const from = copy.position;
    if (isSamePosition(from, source.position)) return { from, to: source.position, tables: [], leftOut: [], bytes: 0 };
    await bringTo(source, copy);
    const tables = copy.offered.map(({ name, extent }) => ({ table: name, extent, written: 1, deleted: 0 }));
    return { from, to: source.position, tables, leftOut: [], bytes: 100 };
  },
  close: async () => undefined,
});
