// Rows of a list by a date field, as src/warehouse/load/suspects.ts finds them.
import { tableSpec } from "../../../src/catalog/tables.ts";
import type { DateBound, DateField, RowsBetween, RowsOfDay } from "../../../src/warehouse/load/suspects.ts";
import type { MemoryRows, StoredRow } from "./rows.ts";

const DAY_MICROS = 86_400_000_000n;

export const datedRows = (rows: MemoryRows) => {
  const microsOf = ({ table, field }: DateField, row: StoredRow): bigint | null => {
    const column = tableSpec(table).fields.find(({ name }) => name === field)?.column ?? "";
    const cell = rows.cell(table, row, column);
    return typeof cell === "bigint" ? cell : null;
  };
  return {
    rowsPerDay: async (field: DateField): Promise<readonly RowsOfDay[]> => {
      const days = new Map<number, RowsOfDay>();
      for (const row of rows.matches(field.table, undefined)) {
        const micros = microsOf(field, row);
        if (micros === null) continue;
        const past = ((micros % DAY_MICROS) + DAY_MICROS) % DAY_MICROS;
        const day = Number((micros - past) / 1000n);
        const known = days.get(day) ?? { day, rows: 0, atMidnight: 0 };
        days.set(day, { day, rows: known.rows + 1, atMidnight: known.atMidnight + (past === 0n ? 1 : 0) });
      }
      return [...days.values()].sort((a, b) => a.day - b.day);
    },
    rowsBetween: async (search: RowsBetween): Promise<readonly string[]> => {
      const { table, from, to, besides, limit } = search;
      const isBefore = ({ at, inclusive }: DateBound, micros: bigint) =>
        micros < BigInt(at) * 1000n || (inclusive && micros === BigInt(at) * 1000n);
      const left = new Set(besides);
      const found = rows.matches(table, undefined).filter((row) => {
        const micros = microsOf(search, row);
        if (left.has(row.id)) return false;
        if (micros === null) return to === null;
        return (from === null || !isBefore(from, micros)) && (to === null || isBefore(to, micros));
      });
      const ids = found.map(({ id }) => id);
      const isNumeric = tableSpec(table).fields.find(({ name }) => name === "id")?.columnType === "BIGINT";
      return ids.sort((a, b) => (isNumeric ? Number(BigInt(a) - BigInt(b)) : a < b ? -1 : 1)).slice(0, limit);
    },
  };
};
