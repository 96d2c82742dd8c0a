// Runs syncs of a fake service over real sockets into tables in memory: for tests of what a sync asks for and decides. A
// sync into files takes ten times as long; test/second-server shows that both kinds of tables answer alike.
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SyncRequest } from "../../jobs/sync.ts";
import { vocabulary } from "../../src/catalog/field-rules.ts";
import type { TableName } from "../../src/catalog/tables.ts";
import type { Clock } from "../../src/core/clock.ts";
import { resolveConfig } from "../../src/core/config/config.ts";
import type { ProgressEvent } from "../../src/core/report/sync-progress.ts";
import { Secret } from "../../src/core/secret.ts";
import type { SyncResult } from "../../src/sync/run/run-sync.ts";
import type { RequestRecord } from "../../src/warehouse/record/checkpoint.ts";
import { joinExtra } from "../../src/warehouse/record/json-text.ts";
import { startFakeServer } from "./fake-server.ts";
import type { FakeService } from "./fake-service.ts";
import { memoryJob } from "./memory-job.ts";
import { createMemoryWarehouse } from "./memory-warehouse/memory-warehouse.ts";
import { hurriedClock, seededRandom } from "./sync-rig.ts";

export interface MemoryRig {
  sync(request?: Partial<SyncRequest>, env?: Record<string, string>): Promise<SyncResult>;
  readonly events: ProgressEvent[];
  /** These columns of a table's rows, in no order; `_extra` is one of them. */
  rows(table: TableName, ...columns: readonly string[]): readonly Readonly<Record<string, unknown>>[];
  /** The ledger of all runs. */
  requests(): readonly RequestRecord[];
  close(): Promise<void>;
}

export const startMemoryRig = async (
  service: FakeService,
  env: Record<string, string> = {},
  clock: Clock = hurriedClock(),
): Promise<MemoryRig> => {
  const server = await startFakeServer(service);
  const warehouse = createMemoryWarehouse({});
  const { rows } = warehouse;
  const job = memoryJob(warehouse, clock);
  const events: ProgressEvent[] = [];
  const random = seededRandom(1);
  // Nothing is written there.
  const dataDir = join(tmpdir(), "duckmirror-in-memory");
  const configOf = (more: Record<string, string>) =>
    resolveConfig({
      flags: {},
      env: {
        DUCKMIRROR_BASE_URL: server.url,
        DUCKMIRROR_TOKEN: "test-token",
        DUCKMIRROR_DATA_DIR: dataDir,
        DUCKMIRROR_RATE_LIMIT: "100000",
        ...env,
        ...more,
      },
      file: null,
      cwd: tmpdir(),
      vocabulary: vocabulary(),
    });
  return {
    sync: (request = {}, more = {}) =>
      job(
        configOf(more),
        { streams: [], full: false, maxDurationMs: null, allowMassDelete: false, ...request },
        {
          clock,
          random,
          emit: (event) => void events.push(event),
          signal: new AbortController().signal,
          hardSignal: new AbortController().signal,
          version: "0.0.0",
          token: new Secret("test-token"),
        },
      ),
    events,
    rows: (table, ...columns) =>
      [...rows.of(table).values()].map((row) =>
        Object.fromEntries(
          columns.map((column) => [column, column === "_extra" ? joinExtra(row.extra) : rows.cell(table, row, column)]),
        ),
      ),
    requests: () => [...warehouse.requests.values()],
    close: server.close,
  };
};
