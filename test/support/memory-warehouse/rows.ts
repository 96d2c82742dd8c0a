// Tables in memory: typed rows, merged as src/warehouse/load merges them, and the keys that walks returned.
// Records become cells by the program's own normalizer, so what a column cannot hold is in `extra` here, too.
import { type TableName, tableSpec } from "../../../src/catalog/tables.ts";
import { collectBatch, mergeExtra, type TableBatch } from "../../../src/warehouse/load/collect-batch.ts";
import { versionColumn } from "../../../src/warehouse/load/load-batch.ts";
import type { LoadCounts, QuotaReading, TableLoad } from "../../../src/warehouse/record/checkpoint.ts";
import type { Cell } from "../../../src/warehouse/record/convert-cell.ts";
import { type ExtraEntries, isSameJson, joinExtra } from "../../../src/warehouse/record/json-text.ts";
import type { NormalRow } from "../../../src/warehouse/record/normalize-record.ts";

export interface StoredRow {
  readonly cells: readonly Cell[];
  readonly extra: ExtraEntries;
  /** Company of its key; empty where the key has none. */
  readonly company: string;
  /** Last column of its key, as text. */
  readonly id: string;
  /** ms since the epoch. */
  readonly firstSyncedAt: number;
  readonly syncedAt: number;
  readonly runId: string;
}

export type Rows = Map<string, StoredRow>;

const MICROS = 1000;
const NO_COUNTS: LoadCounts = { inserted: 0, updated: 0, unchanged: 0, rejected: 0 };

const sameCell = (a: Cell, b: Cell, isJson: boolean): boolean => {
  if (a === b) return true;
  if (typeof a === "object" && typeof b === "object") return JSON.stringify(a) === JSON.stringify(b);
  return isJson && typeof a === "string" && typeof b === "string" && isSameJson(a, b);
};

const sameRow = (table: TableName, a: Pick<StoredRow, "cells" | "extra">, b: StoredRow): boolean =>
  tableSpec(table).fields.every(({ columnType }, at) =>
    sameCell(a.cells[at] ?? null, b.cells[at] ?? null, columnType === "JSON"),
  ) && isSameJson(joinExtra(a.extra) ?? "", joinExtra(b.extra) ?? "");

export const createRows = () => {
  const tables = new Map<TableName, Rows>();
  /** By walk: table, company and id. */
  const seen = new Map<string, Set<string>>();
  const of = (name: TableName): Rows => {
    const rows = tables.get(name) ?? new Map<string, StoredRow>();
    tables.set(name, rows);
    return rows;
  };
  const cell = (name: TableName, row: Pick<StoredRow, "cells">, column: string): Cell =>
    row.cells[tableSpec(name).fields.findIndex((field) => field.column === column)] ?? null;
  const newRow = (name: TableName, { cells, extra }: NormalRow, at: number, runId: string): StoredRow => {
    const { key } = tableSpec(name);
    const company = key[0] === "company_id" && key.length > 1 ? String(cell(name, { cells }, "company_id")) : "";
    const id = String(cell(name, { cells }, key.at(-1) ?? ""));
    return { cells, extra, company, id, firstSyncedAt: at, syncedAt: at, runId };
  };

  const merged = (name: TableName, before: StoredRow, row: NormalRow): Pick<StoredRow, "cells" | "extra"> => ({
    cells: row.cells.map((own, at) => ((row.kept >> BigInt(at)) & 1n ? (before.cells[at] ?? null) : own)),
    extra: row.kept !== 0n || !row.full ? mergeExtra(tableSpec(name), before.extra, row) : row.extra,
  });

  /** Whether the stored row of a record that came along is to stay: there is none, or it is no older. */
  const staysAsIs = (name: TableName, before: StoredRow | undefined, row: NormalRow): boolean => {
    if (before === undefined) return true;
    const version = versionColumn(name);
    if (version === undefined) return false;
    const [own, stored] = [cell(name, row, version), cell(name, before, version)];
    return typeof own === "bigint" && typeof stored === "bigint" && own < stored;
  };

  const loadBatch = (batch: TableBatch, runId: string) => {
    const counts = new Map<number, { inserted: number; updated: number; rows: number }>();
    const rows = of(batch.table);
    for (const { row, loadIndex, receivedAt } of batch.rows) {
      const count = counts.get(loadIndex) ?? { inserted: 0, updated: 0, rows: 0 };
      counts.set(loadIndex, { ...count, rows: count.rows + 1 });
      const before = rows.get(row.keyText);
      if (batch.knownOnly.has(loadIndex) && staysAsIs(batch.table, before, row)) continue;
      if (before === undefined) {
        rows.set(row.keyText, newRow(batch.table, row, receivedAt, runId));
        counts.set(loadIndex, { ...count, rows: count.rows + 1, inserted: count.inserted + 1 });
        continue;
      }
      const next = merged(batch.table, before, row);
      if (sameRow(batch.table, next, before)) continue;
      rows.set(row.keyText, { ...before, ...next, syncedAt: receivedAt, runId });
      counts.set(loadIndex, { ...count, rows: count.rows + 1, updated: count.updated + 1 });
    }
    for (const { walkId, companyId, id } of batch.seen) {
      const keys = seen.get(walkId) ?? new Set();
      seen.set(walkId, keys.add(`${batch.table}\n${companyId}\n${id}`));
    }
    return counts;
  };

  const matches = (name: TableName, company: string | undefined) =>
    [...of(name).values()].filter((row) => company === undefined || row.company === company);
  const met = (name: TableName, walkId: string, { company, id }: StoredRow): boolean =>
    seen.get(walkId)?.has(`${name}\n${company}\n${id}`) ?? false;

  return {
    of,
    cell,
    seen,
    matches,
    met,
    /** Loads of one checkpoint that were not committed before; counts by load. */
    load: (loads: readonly TableLoad[], isCommitted: (requestId: string) => boolean, runId: string): LoadCounts[] => {
      const counts = loads.map(() => NO_COUNTS);
      for (const table of new Set(loads.map((load) => load.table))) {
        const mine = loads
          .map((load, index) => ({ load, index }))
          .filter(({ load }) => load.table === table && !isCommitted(load.requestId));
        const batch = collectBatch(table, mine);
        const written = loadBatch(batch, runId);
        for (const { load, index } of mine) {
          const { inserted, updated, rows } = written.get(index) ?? { inserted: 0, updated: 0, rows: 0 };
          const rejected = batch.rejects.filter((reject) => reject.load === load).length;
          counts[index] = { inserted, updated, unchanged: rows - inserted - updated, rejected };
        }
      }
      return counts;
    },
    /** Stores a reading of the quota, unless one of the same time is there. */
    readQuota: (quota: QuotaReading, runId: string): void => {
      const micros = (ms: number | null) => (ms === null ? null : BigInt(Math.round(ms * MICROS)));
      const whole = (value: number | null) => (value === null ? null : BigInt(Math.round(value)));
      const known: Record<string, Cell> = {
        captured_at: micros(quota.capturedAt),
        source: "response",
        limit: whole(quota.limit),
        used: whole(quota.used),
        remaining: whole(quota.remaining),
        resets_at: micros(quota.resetsAt),
      };
      const key = String(known.captured_at);
      const rows = of("usage_snapshots");
      if (rows.has(`${key.length}:${key}`)) return;
      const cells = tableSpec("usage_snapshots").fields.map(({ column }) => known[column] ?? null);
      const at = quota.capturedAt;
      rows.set(`${key.length}:${key}`, {
        cells,
        extra: new Map(),
        company: "",
        id: key,
        firstSyncedAt: at,
        syncedAt: at,
        runId,
      });
    },
    /** Removes rows; answers with their number. */
    remove: (name: TableName, isGone: (row: StoredRow) => boolean): number => {
      const gone = [...of(name)].filter(([, row]) => isGone(row));
      for (const [key] of gone) of(name).delete(key);
      return gone.length;
    },
  };
};
export type MemoryRows = ReturnType<typeof createRows>;
