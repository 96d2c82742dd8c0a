// Contents of one transaction: rows, seen keys, scope states, request ledger, run record. Types, and the kinds of
// work.
// Invariant I1: a cursor never passes unwritten rows, because one checkpoint holds both.
import type { LedgerStream, StreamName } from "../../catalog/streams.ts";
import type { TableName } from "../../catalog/tables.ts";
import type { JsonValue } from "../../core/json.ts";

/** Records of one response for one table. */
export interface TableLoad {
  readonly stream: StreamName;
  readonly table: TableName;
  /** The records as received, unchecked: also null or a number. */
  readonly records: readonly JsonValue[];
  /**
   * API names of fields whose absence from a record means NULL. Any other absent field keeps its stored value (opt-in
   * fields that were not requested, embedded records).
   */
  readonly asked: ReadonlySet<string>;
  /** The request listed the fields it wanted, so the absence of unknown fields means nothing. */
  readonly chosen?: boolean;
  /** Values of fields that the path implies (`companyId`, `accountId`), used where the record lacks them. */
  readonly fromPath: Readonly<Record<string, JsonValue>>;
  /** Walk of this load; its keys are marked as seen. */
  readonly walkId: string | null;
  /**
   * The records come along with another one: they refresh stored rows that are no newer. New rows are left to their list,
   * because a row that counts as mirrored although its record was perhaps embedded in part would never be read in full.
   */
  readonly knownOnly?: boolean;
  readonly requestId: string;
  /** When the response was received, ms since the epoch: `_synced_at` of rows that changed. */
  readonly receivedAt: number;
}

/** How often this process changed a table. */
export interface ChangeCounts {
  /** While this number is unchanged, values read from the table are current. */
  changesOf(table: TableName): number;
}

export interface LoadCounts {
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
  /** Records in `sync.rejects` (no usable key). */
  readonly rejected: number;
  /** Records in `sync.rejects` because their table is strict. The walk still counts their keys as seen. */
  readonly misfits?: number;
}

/**
 * What a request is made for: a look at what changed in a list, a walk of a whole list, content of one record, a record
 * of its own, a reading (counts, usage), or a verification.
 */
export const WORK = ["look", "walk", "content", "record", "reading", "verify"] as const;
export type Work = (typeof WORK)[number];

/** One row of `sync.requests`: one HTTP call. */
export interface RequestRecord {
  readonly requestId: string;
  readonly runId: string;
  readonly stream: LedgerStream;
  readonly scope: string;
  /** Endpoint template, e.g. `/v1/companies/{companyId}/filings`. */
  readonly endpoint: string;
  /** Path and query as sent. */
  readonly url: string;
  /** null: no response. */
  readonly status: number | null;
  /** `spent` (200), `free` (any other response, or never sent), `ambiguous` (no response). */
  readonly charge: "spent" | "free" | "ambiguous";
  readonly startedAt: number;
  readonly durationMs: number;
  readonly bytes: number;
  readonly rows: number;
  /** 1-based. */
  readonly attempt: number;
  readonly error: string | null;
  /** `meta.requestId` and `meta.apiVersion` of the response; absent or null if it lacks them. */
  readonly serviceRequestId?: string | null;
  readonly apiVersion?: string | null;
  /** null: not known. */
  readonly work: Work | null;
}

/** Rows of the mirror that the service did not confirm, or rows of the service that the mirror lacks. */
export interface Unconfirmed {
  readonly rows: number;
  /** Reason, as text for people. */
  readonly because: string;
}

/** State of one scope of one stream: one row of `sync.stream_state`. */
export interface ScopeState {
  readonly stream: StreamName;
  /** Empty for the organization, else a company id, account id or followed input. */
  readonly scope: string;
  /** `idle` between walks, `walking` while one is under way, `failed` after an error. */
  readonly status: "idle" | "walking" | "failed";
  readonly walkId: string | null;
  /** Stored cursor, JSON written and read by sync/list/ways/progress.ts only; null when idle. */
  readonly cursor: string | null;
  /** Highest committed value of the stream's ordering field, ms since the epoch. */
  readonly watermark: number | null;
  /** Latest `totalCount` of the whole list. */
  readonly totalCount: number | null;
  /** Mirrored rows of this scope when the last complete walk ended. */
  readonly rowsAtWalk: number | null;
  /** When the scope was last compared with the service in any way, ms since the epoch. */
  readonly checkedAt: number | null;
  /** When the last walk that added up ended, ms since the epoch. */
  readonly walkedAt: number | null;
  /** Result of the last complete walk if it left rows unconfirmed; null: it added up and its deletes were settled. */
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

/**
 * The accepted gap of a list (docs/GLOSSARY.md): records that the service counted and the mirror could not hold when the last
 * complete walk ended, below zero if the mirror held more rows; null: no complete walk has shown it.
 */
export const acceptedGap = (state: Pick<ScopeState, "totalCount" | "rowsAtWalk"> | undefined): number | null =>
  state?.totalCount == null || state.rowsAtWalk == null ? null : state.totalCount - state.rowsAtWalk;
