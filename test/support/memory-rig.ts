// Runs syncs of a fake service over real sockets into tables in memory: for tests of what a sync asks for and decides. A
// sync into files takes ten times as long; test/second-server shows that both kinds of tables answer alike.

import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance, VARCHAR } from "@duckdb/node-api";
import type { SyncRequest } from "../../jobs/sync.ts";
import { TABLE_NAMES, type TableName, tableSpec } from "../../src/catalog/tables.ts";
import type { Clock } from "../../src/core/clock.ts";
import type { ProgressEvent } from "../../src/core/report/sync-progress.ts";
import { fromDuck } from "../../src/warehouse/duckdb/statements.ts";
import type { RequestRecord } from "../../src/warehouse/record/checkpoint.ts";
import { DUCK_TYPES, duckCell } from "../../src/warehouse/record/convert-cell.ts";
import { joinExtra } from "../../src/warehouse/record/json-text.ts";
import { afterTest } from "./after-test.ts";
import { seededRandom } from "./chance.ts";
import { startFakeServer } from "./fake-server.ts";
import { type FakeService, idsOf } from "./fake-service.ts";
import { memoryJob } from "./memory-job.ts";
import { createMemoryWarehouse } from "./memory-warehouse/memory-warehouse.ts";
import type { MemoryRows } from "./memory-warehouse/rows.ts";
import { runsOf } from "./runs-of.ts";
import { hurriedClock, type Synced, watched } from "./sync-rig.ts";

export interface MemoryRig {
  readonly service: FakeService;
  readonly clock: Clock;
  sync(request?: Partial<SyncRequest>, env?: Record<string, string>, signal?: AbortSignal): Promise<Synced>;
  readonly events: ProgressEvent[];
  /** These columns of a table's rows, in no order; `_extra` is one of them. */
  rows(table: TableName, ...columns: readonly string[]): readonly Readonly<Record<string, unknown>>[];
  /** Ids of a table's rows, sorted as texts. */
  ids(table: TableName): readonly string[];
  /** Rows of a query over the tables of `main`; memory keeps no history and no views. */
  query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** The ledger of all runs. */
  requests(): readonly RequestRecord[];
}

/** Copies the tables that the statement names into DuckDB, and asks there. */
const queryOver = async (rows: MemoryRows, sql: string) => {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  try {
    for (const table of TABLE_NAMES.filter((name) => new RegExp(`\\b${name}\\b`).test(sql))) {
      const { fields } = tableSpec(table);
      const columns = fields.map(({ column, columnType }) => `"${column}" ${columnType}, `).join("");
      await connection.run(`CREATE TABLE ${table} (${columns}_extra JSON)`);
      const appender = await connection.createAppender(table);
      for (const { cells, extra } of rows.of(table).values()) {
        for (const [at, { columnType }] of fields.entries())
          appender.appendValue(duckCell(columnType, cells[at] ?? null), DUCK_TYPES[columnType]);
        appender.appendValue(joinExtra(extra), VARCHAR);
        appender.endRow();
      }
      appender.closeSync();
    }
    const result = await connection.runAndReadAll(sql);
    const names = result.columnNames();
    return result
      .getRows()
      .map((row) => Object.fromEntries(row.map((cell, at) => [names[at] ?? "", fromDuck(cell, "iso")])));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
};

/** It is closed after the test. */
export const startMemoryRig = async (
  service: FakeService,
  env: Record<string, string> = {},
  clock: Clock = hurriedClock(),
): Promise<MemoryRig> => {
  service.useClock(clock);
  const server = await startFakeServer(service);
  afterTest(server.close);
  const warehouse = createMemoryWarehouse({});
  const { rows } = warehouse;
  const job = memoryJob(warehouse, clock);
  // Nothing is written there.
  const dataDir = join(tmpdir(), "duckmirror-in-memory");
  const { events, configOf, context } = runsOf({ url: server.url, dataDir, env, clock, random: seededRandom(1) });
  const rowsOf: MemoryRig["rows"] = (table, ...columns) =>
    [...rows.of(table).values()].map((row) =>
      Object.fromEntries(
        columns.map((column) => [column, column === "_extra" ? joinExtra(row.extra) : rows.cell(table, row, column)]),
      ),
    );
  return {
    service,
    clock,
    sync: (request = {}, more = {}, signal) => watched(service, () => job(configOf(more), request, context(signal))),
    events,
    rows: rowsOf,
    ids: (table) => idsOf(rowsOf(table, "id")),
    query: (sql) => queryOver(rows, sql),
    requests: () => [...warehouse.requests.values()],
  };
};
