// Builders of checkpoints: valid defaults, a test states only what matters to it.
import { type TableName, tableSpec } from "../../../src/catalog/tables.ts";
import type { JsonValue } from "../../../src/core/json.ts";
import type { Checkpoint, RequestRecord, ScopeState, TableLoad } from "../../../src/warehouse/record/checkpoint.ts";

export const T0 = Date.UTC(2025, 0, 1);

/** Everything a default response holds: no opt-in field, nothing only the detail route returns. */
export const defaultAsked = (table: TableName): ReadonlySet<string> =>
  new Set(
    tableSpec(table)
      .fields.filter((field) => !field.optIn && !field.detailOnly)
      .map((field) => field.name),
  );

let requests = 0;

export const aLoad = (table: TableName, records: readonly JsonValue[], more: Partial<TableLoad> = {}): TableLoad => ({
  stream: "signals",
  table,
  records,
  asked: defaultAsked(table),
  fromPath: {},
  walkId: null,
  requestId: `request-${++requests}`,
  receivedAt: T0,
  ...more,
});

export const aRequest = (requestId: string, more: Partial<RequestRecord> = {}): RequestRecord => ({
  requestId,
  runId: "run-1",
  stream: "signals",
  scope: "",
  endpoint: "/v1/signals",
  url: "/v1/signals?page=1",
  status: 200,
  charge: "spent",
  startedAt: T0,
  durationMs: 12.5,
  bytes: 100,
  rows: 1,
  attempt: 1,
  serviceRequestId: null,
  apiVersion: null,
  work: null,
  error: null,
  ...more,
});

export const aState = (more: Partial<ScopeState> = {}): ScopeState => ({
  stream: "signals",
  scope: "",
  status: "walking",
  walkId: "walk-1",
  cursor: '{"page":2}',
  watermark: T0,
  totalCount: 10,
  rowsAtWalk: null,
  checkedAt: T0,
  walkedAt: null,
  unconfirmed: null,
  error: null,
  runId: "run-1",
  ...more,
});

/** A checkpoint of these loads, with a ledger entry for each. */
export const aCheckpoint = (loads: readonly TableLoad[], more: Partial<Checkpoint> = {}): Checkpoint => ({
  runId: "run-1",
  loads,
  requests: loads.map(({ requestId }) => aRequest(requestId)),
  scopes: [],
  quota: null,
  ...more,
});

export const aSignal = (id: JsonValue, more: Readonly<Record<string, JsonValue>> = {}) => ({
  id,
  organizationId: "org",
  accountId: 1,
  type: "podcast",
  headline: `Signal ${String(id)}`,
  date: "2024-05-05",
  createdAt: "2024-05-05T10:00:00Z",
  updatedAt: "2024-05-05T10:00:00Z",
  ...more,
});
