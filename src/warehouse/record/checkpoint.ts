// What one transaction commits: rows, seen keys, scope states, request ledger, run record. Types only.
// Invariant I1: a cursor never passes unwritten rows, because both stand in the same Checkpoint.
import type { StreamName } from "../../catalog/streams.ts";
import type { TableName } from "../../catalog/tables.ts";
import type { JsonValue } from "../../core/json.ts";

/** Records of one response for one table. */
export interface TableLoad {
  readonly stream: StreamName;
  readonly table: TableName;
  /** The records as received: anything may stand in here, also null or a number. */
  readonly records: readonly JsonValue[];
  /**
   * API names of fields whose absence from a record means NULL. A field that is absent from a record and not
   * listed here keeps its stored value (opt-in fields that were not asked for, embedded records).
   */
  readonly asked: ReadonlySet<string>;
  /** The request named the fields it wanted: that unknown ones are absent says nothing about them. */
  readonly chosen?: boolean;
  /** Values for fields the path implies (`companyId`, `accountId`), used where the record lacks them. */
  readonly fromPath: Readonly<Record<string, JsonValue>>;
  /** Walk this load belongs to: the keys are marked as seen. */
  readonly walkId: string | null;
  readonly requestId: string;
  /** When the response was received, ms since the epoch: `_synced_at` of rows that changed. */
  readonly receivedAt: number;
}

export interface LoadCounts {
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
  /** Records that went to `sync.rejects` (no usable key). */
  readonly rejected: number;
  /** Records that went to `sync.rejects` because their table is strict; the walk has seen their keys. */
  readonly refused?: number;
}

/** One row of `sync.requests`: one HTTP call. */
export interface RequestRecord {
  readonly requestId: string;
  readonly runId: string;
  readonly stream: StreamName;
  readonly scope: string;
  /** Endpoint template, e.g. `/v1/companies/{companyId}/filings`. */
  readonly endpoint: string;
  /** Path and query as sent. */
  readonly url: string;
  /** null: no answer arrived. */
  readonly status: number | null;
  /** `spent` (200), `free` (any other answer, or never sent), `ambiguous` (died without an answer). */
  readonly charge: "spent" | "free" | "ambiguous";
  readonly startedAt: number;
  readonly durationMs: number;
  readonly bytes: number;
  readonly rows: number;
  /** 1-based. */
  readonly attempt: number;
  readonly error: string | null;
  /** `meta.requestId` and `meta.apiVersion` of the answer; absent or null where it says nothing. */
  readonly serviceRequestId?: string | null;
  readonly apiVersion?: string | null;
}

/** Rows that exist here and could not be confirmed there, or the reverse. */
export interface Unconfirmed {
  readonly rows: number;
  /** Why, in words for people. */
  readonly because: string;
}

/** One row of `sync.stream_state`: where one scope of one stream stands. */
export interface ScopeState {
  readonly stream: StreamName;
  /** `` for the organization, else a company id, account id or followed input. */
  readonly scope: string;
  /** `idle` between walks, `walking` while one is under way, `failed` after an error. */
  readonly status: "idle" | "walking" | "failed";
  readonly walkId: string | null;
  /** Strategy progress, JSON written and read by sync/strategies only; null when idle. */
  readonly cursor: string | null;
  /** Highest committed value of the stream's ordering field, ms since the epoch. */
  readonly watermark: number | null;
  /** Latest `totalCount` the service reported for the whole list. */
  readonly totalCount: number | null;
  /** Rows the mirror held for this scope when the last complete walk ended. */
  readonly rowsAtWalk: number | null;
  /** When the scope was last compared with the service in any way, ms since the epoch. */
  readonly checkedAt: number | null;
  /** When the last walk that added up ended, ms since the epoch. */
  readonly walkedAt: number | null;
  /** What the last complete walk could not confirm; null: it added up and its deletes were settled. */
  readonly unconfirmed: Unconfirmed | null;
  readonly error: string | null;
  readonly runId: string;
}

/** A usage block to record in `usage_snapshots`. */
export interface QuotaReading {
  readonly capturedAt: number;
  readonly limit: number | null;
  readonly used: number | null;
  readonly remaining: number | null;
  readonly resetsAt: number | null;
}

/** Everything that one transaction writes. */
export interface Checkpoint {
  readonly runId: string;
  readonly loads: readonly TableLoad[];
  readonly requests: readonly RequestRecord[];
  readonly scopes: readonly ScopeState[];
  readonly quota: QuotaReading | null;
}
