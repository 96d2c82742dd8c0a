// Applies the change feed to a map, as a reader would, and compares it with the mirror.
import { z } from "zod";
import { TABLE_NAMES, type TableName, tableSpec } from "../../src/catalog/tables.ts";
import { exactJson, type JsonObject } from "../../src/core/json.ts";
import type { Sql } from "../../src/warehouse/duckdb/statements.ts";
import type { Change } from "../../src/warehouse/read/changes/change.ts";
import { readChanges } from "../../src/warehouse/read/changes/read-changes.ts";
import { recordOf, versionsSql } from "../../src/warehouse/read/changes/versions.ts";

/** Table and key → record. */
export type Copy = Map<string, JsonObject>;

const placeOf = (table: TableName, key: JsonObject) => `${table} ${exactJson(key)}`;

/** Applies changes; throws on one that does not fit, such as an update of an unknown row. */
export const applyChanges = (copy: Copy, changes: readonly Change[]): void => {
  for (const { n, table, key, change, fields, before, after } of changes) {
    const place = placeOf(table, key);
    const known = copy.get(place);
    // Changes of an erased contact have no values; none of them leaves a row.
    if (before === null && after === null) continue;
    if ((change === "insert") === (known !== undefined)) throw new Error(`${n}: ${change} of ${place}`);
    if (change !== "insert" && exactJson(known ?? null) !== exactJson(before)) throw new Error(`${n}: other before`);
    if (change === "update" && fields.length === 0) throw new Error(`${n}: an update of nothing`);
    if (after === null) copy.delete(place);
    else copy.set(place, after);
  }
};

const recordRow = z.object({ record: z.string() });

/** What the mirror holds, in the form of the copy. */
export const mirrorCopy = async (
  sql: Pick<Sql, "query">,
  tables: readonly TableName[] = TABLE_NAMES,
): Promise<Copy> => {
  const copy: Copy = new Map();
  for (const table of tables) {
    const present = versionsSql(table).present.replace(/WHERE[\s\S]*$/, "");
    for (const { record: text } of await sql.query(present, [], recordRow)) {
      const record = recordOf(table, text);
      const key = Object.fromEntries(tableSpec(table).key.map((column) => [column, record[column] ?? null]));
      copy.set(placeOf(table, key), record);
    }
  }
  return copy;
};

export const sorted = (copy: Copy) => Object.fromEntries([...copy].sort(([a], [b]) => (a < b ? -1 : 1)));

/** Every change behind `after`, page by page; throws where a number is missing or comes twice. */
export const allChanges = async (sql: Pick<Sql, "query">, after: number | null = null, limit = 7) => {
  const changes: Change[] = [];
  for (let cursor = after; ; ) {
    const page = await readChanges(sql, { after: cursor, limit, tables: TABLE_NAMES });
    for (const change of page.changes) {
      const before = changes.at(-1)?.n ?? cursor;
      if (before !== null && change.n !== before + 1) throw new Error(`${change.n} comes behind ${before}`);
      changes.push(change);
    }
    cursor = page.next;
    if (cursor === page.last) return changes;
  }
};
