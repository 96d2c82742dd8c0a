// A change of the feed, as every reader gets it: docs/CHANGES.md describes it.
import { isTableName, TABLE_NAMES, type TableName } from "../../../catalog/tables.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";

/** One insert, update or delete of the mirror. */
export interface Change {
  /** 1, 2, 3, ... in commit order, without gaps. */
  readonly n: number;
  /** When duckmirror received it, or found the row gone: ISO 8601, UTC. */
  readonly at: string;
  /** Null: no run made it. */
  readonly run_id: string | null;
  readonly table: TableName;
  /** Key columns and their values. */
  readonly key: JsonObject;
  readonly change: "insert" | "update" | "delete";
  /** Columns that differ in an update; else empty. */
  readonly fields: readonly string[];
  /** The row before and after; null for an insert and a delete, and for an erased contact. */
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
}

/** Consecutive changes, and where the next ones begin. */
export interface ChangePage {
  readonly changes: readonly Change[];
  /** The cursor for the next page: number of the last change that was considered. */
  readonly next: number;
  /** Number of the last change in the snapshot. */
  readonly last: number;
}

/** Tables by name; none: every table. Throws USAGE. */
export const changeTables = (names: readonly string[]): readonly TableName[] => {
  const wrong = names.find((name) => !isTableName(name));
  if (wrong !== undefined) {
    const detail = `there is no mirrored table ${wrong}; there are ${TABLE_NAMES.join(", ")}`;
    throw new DuckmirrorError("USAGE", { detail });
  }
  return names.length === 0 ? TABLE_NAMES : names.filter(isTableName);
};
