// Types and schemas of a checkpoint: all that one transaction writes (rows, seen keys, scope states, request ledger, run record), in the
// form that the journal stores, too. Invariant I1: a cursor never passes unwritten rows, because one checkpoint holds both.
import { z } from "zod";
import { isLedgerStream, isStreamName, type StreamName } from "../../catalog/streams.ts";
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

const ms = z.number();
const streamName = z.string().refine(isStreamName);

/** One row of `sync.requests`: one HTTP call. */
export const requestSchema = z.object({
  requestId: z.string(),
  runId: z.string(),
  stream: z.string().refine(isLedgerStream),
  scope: z.string(),
  /** Endpoint template, e.g. `/v1/companies/{companyId}/filings`. */
  endpoint: z.string(),
  /** Path and query as sent. */
  url: z.string(),
  /** null: no response. */
  status: z.number().nullable(),
  /** `spent` (200), `free` (any other response, or never sent), `ambiguous` (no response). */
  charge: z.enum(["spent", "free", "ambiguous"]),
  startedAt: ms,
  durationMs: z.number(),
  bytes: z.number(),
  rows: z.number(),
  /** 1-based. */
  attempt: z.number(),
  error: z.string().nullable(),
  /** `meta.requestId` and `meta.apiVersion` of the response; null if it lacks them. */
  serviceRequestId: z.string().nullable(),
  apiVersion: z.string().nullable(),
  /** null: not known. */
  work: z.enum(WORK).nullable(),
});
export type RequestRecord = Readonly<z.output<typeof requestSchema>>;

/** State of one scope of one stream: one row of `sync.stream_state`. Times are ms since the epoch. */
export const scopeSchema = z.object({
  stream: streamName,
  /** Empty for the organization, else a company id, account id or followed input. */
  scope: z.string(),
  /** `idle` between walks, `walking` while one is under way, `failed` after an error. */
  status: z.enum(["idle", "walking", "failed"]),
  walkId: z.string().nullable(),
  /** Stored cursor, JSON written and read by sync/list/ways/progress.ts only; null when idle. */
  cursor: z.string().nullable(),
  /** Highest committed value of the stream's ordering field. */
  watermark: ms.nullable(),
  /** Latest `totalCount` of the whole list. */
  totalCount: z.number().nullable(),
  /** Mirrored rows of this scope when the last complete walk ended. */
  rowsAtWalk: z.number().nullable(),
  /** When the scope was last compared with the service in any way. */
  checkedAt: ms.nullable(),
  /** When the last walk that added up ended. */
  walkedAt: ms.nullable(),
  /**
   * Rows of the mirror that the last complete walk did not confirm, or rows of the service that the mirror lacks, with the
   * reason as text for people; null: it added up and its deletes were settled.
   */
  unconfirmed: z.object({ rows: z.number(), because: z.string() }).readonly().nullable(),
  error: z.string().nullable(),
  runId: z.string(),
});
export type ScopeState = Readonly<z.output<typeof scopeSchema>>;
export type Unconfirmed = NonNullable<ScopeState["unconfirmed"]>;

/** A usage block to record in `usage_snapshots`. */
export const quotaSchema = z.object({
  capturedAt: ms,
  limit: z.number().nullable(),
  used: z.number().nullable(),
  remaining: z.number().nullable(),
  resetsAt: ms.nullable(),
});
export type QuotaReading = Readonly<z.output<typeof quotaSchema>>;

/** Everything that one transaction writes. */
export interface Checkpoint {
  readonly runId: string;
  readonly loads: readonly TableLoad[];
  readonly requests: readonly RequestRecord[];
  readonly scopes: readonly ScopeState[];
  readonly quota: QuotaReading | null;
}
