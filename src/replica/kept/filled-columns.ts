// Which columns of a table hold a value in any row. The text of a record leaves NULL out, so the others need not be read: of
// 21 columns of signals, twelve empty ones took a fifth of the processor time of a page. Only for a reader whose rows never change.
// The columns of a table are looked up once, in the background, after WORTH_AFTER reads.
import type { FieldSpec } from "../../catalog/fields.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { filledStatement } from "../query/list-query.ts";
import type { Reader } from "../reader.ts";

/** Columns of one table that a statement is to read. */
interface Columns {
  readonly table: TableName;
  readonly fields: readonly FieldSpec[];
  /** Append the content of `_extra`. */
  readonly extra: boolean;
}

export interface FilledColumns {
  /** The same columns without the empty ones, as far as they are known. */
  of<T extends Columns>(columns: T): T;
}

/** Reads of a table before its columns are looked up: that costs about as much as ten pages save. */
const WORTH_AFTER = 10;

/** For a reader whose rows may change: no column is known to be empty. */
export const everyColumn: FilledColumns = { of: (columns) => columns };

/** Columns of the tables of one reader. */
export const createFilledColumns = (reader: Pick<Reader, "cells">): FilledColumns => {
  const reads = new Map<TableName, number>();
  const filled = new Map<TableName, ReadonlySet<string>>();

  const lookUp = async (table: TableName): Promise<void> => {
    const columns = [...tableSpec(table).fields.map(({ column }) => column), "_extra"];
    const [found = []] = await reader.cells(filledStatement(table, columns), []);
    filled.set(table, new Set(columns.filter((_, index) => found[index] !== false)));
  };

  return {
    of: (columns) => {
      const { table, fields, extra } = columns;
      const known = filled.get(table);
      if (known !== undefined) {
        return {
          ...columns,
          fields: fields.filter(({ column }) => known.has(column)),
          extra: extra && known.has("_extra"),
        };
      }
      const times = (reads.get(table) ?? 0) + 1;
      reads.set(table, times);
      // Once: a table that cannot be looked up is read with every column.
      if (times === WORTH_AFTER) void lookUp(table).catch(() => undefined);
      return columns;
    },
  };
};
