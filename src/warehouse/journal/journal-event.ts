// Entries of the journal: every change of the working database, in order, written before the change is made.
// Rows are not repeated here: a commit names the archived responses it loads.
import { z } from "zod";
import { isLedgerStream, isStreamName } from "../../catalog/streams.ts";
import { TABLE_NAMES, type TableName } from "../../catalog/tables.ts";
import type { JsonValue } from "../../core/json.ts";
import { WORK } from "../record/checkpoint.ts";
import { scopeMarkSchema } from "./scope-mark.ts";

const stream = z.string().refine(isStreamName);
const isTable = (name: string): name is TableName => TABLE_NAMES.some((table) => table === name);
const table = z.string().refine(isTable);
const ms = z.number();
const json = z.json().transform((value): JsonValue => value);

/** One HTTP call as the ledger keeps it. */
export const requestSchema = z.object({
  requestId: z.string(),
  runId: z.string(),
  stream: z.string().refine(isLedgerStream),
  scope: z.string(),
  endpoint: z.string(),
  url: z.string(),
  status: z.number().nullable(),
  charge: z.enum(["spent", "free", "ambiguous"]),
  startedAt: ms,
  durationMs: z.number(),
  bytes: z.number(),
  rows: z.number(),
  attempt: z.number(),
  error: z.string().nullable(),
  serviceRequestId: z.string().nullable().default(null),
  apiVersion: z.string().nullable().default(null),
  work: z.enum(WORK).nullable().default(null),
});

const scopeFields = z.object({
  stream,
  scope: z.string(),
  status: z.enum(["idle", "walking", "failed"]),
  walkId: z.string().nullable(),
  cursor: z.string().nullable(),
  watermark: ms.nullable(),
  totalCount: z.number().nullable(),
  rowsAtWalk: z.number().nullable(),
  checkedAt: ms.nullable(),
  walkedAt: ms.nullable(),
  unconfirmed: z.object({ rows: z.number(), because: z.string() }).nullable().optional(),
  error: z.string().nullable(),
  runId: z.string(),
});
type ScopeFields = z.output<typeof scopeFields>;

/** States of older versions: after a walk that did not add up they lack the row count; a log never has one. */
const olderVerdict = ({ stream: of, status, rowsAtWalk, totalCount }: ScopeFields) =>
  of === "usage" || status !== "idle" || rowsAtWalk !== null
    ? null
    : { rows: 0, because: `the last complete walk of ${totalCount ?? "all"} rows did not add up` };

const scopeSchema = scopeFields.transform((scope) => ({
  ...scope,
  unconfirmed: scope.unconfirmed === undefined ? olderVerdict(scope) : scope.unconfirmed,
}));

/** A reading of the quota. */
export const quotaSchema = z.object({
  capturedAt: ms,
  limit: z.number().nullable(),
  used: z.number().nullable(),
  remaining: z.number().nullable(),
  resetsAt: ms.nullable(),
});

const rowsSchema = z.discriminatedUnion("from", [
  /** The records of an archived response; the walk counts their keys as seen. */
  z.object({ from: z.literal("response"), requestId: z.string(), walkId: z.string().nullable() }),
  /** Rows that no response contains, such as the consequence of a 404. */
  z.object({
    from: z.literal("journal"),
    requestId: z.string(),
    stream,
    table,
    records: z.array(json).readonly(),
    asked: z.array(z.string()).readonly(),
    fromPath: z.record(z.string(), json),
    walkId: z.string().nullable(),
    receivedAt: ms,
  }),
]);

const entrySchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("run-started"),
    runId: z.string(),
    mode: z.string(),
    startedAt: ms,
    forecast: json,
  }),
  z.object({
    kind: z.literal("run-finished"),
    runId: z.string(),
    status: z.string(),
    finishedAt: ms,
    summary: json,
    error: z.string().nullable(),
    /** Number of the last change in the feed; null in entries of older versions. */
    changes: z.number().nullable().default(null),
  }),
  z.object({
    kind: z.literal("commit"),
    runId: z.string(),
    rows: z.array(rowsSchema).readonly(),
    requests: z.array(requestSchema).readonly(),
    scopes: z.array(scopeSchema).readonly(),
    quota: quotaSchema.nullable(),
  }),
  /** Deleted rows, by company where the table is kept per company. */
  z.object({
    kind: z.literal("deleted"),
    runId: z.string(),
    table,
    gone: z.array(z.object({ company: z.string().nullable(), ids: z.array(z.string()).readonly() })).readonly(),
    now: ms,
    /** Walk that found the rows missing; its keys are dropped. */
    walkId: z.string().nullable(),
    scope: scopeSchema.nullable(),
  }),
  /** Erased contacts: keyed hashes of their ids, and the number of rows that the contacts table lost. */
  z.object({
    kind: z.literal("forgotten"),
    hashes: z.array(z.string()).readonly(),
    rows: z.number(),
    now: ms,
    /** Their changes in the feed, which the archive can repeat no longer. */
    changes: z
      .array(
        z.object({
          n: z.number(),
          hash: z.string(),
          change: z.enum(["insert", "update", "delete"]),
          runId: z.string().nullable(),
          at: ms,
        }),
      )
      .readonly()
      .default([]),
    /** Hashes of those whose row is deleted now, in the order of these deletes in the feed. */
    deleted: z.array(z.string()).readonly().default([]),
  }),
  /** The change feed was emptied and starts after this number with the rows that exist. */
  z.object({ kind: z.literal("feed-started"), after: z.number(), now: ms }),
  /** Rows were marked as inside or outside the row scope. The end of a run marks followers without an entry of its own. */
  z.object({ kind: z.literal("marked"), mark: scopeMarkSchema }),
  /** Only in journals of older versions: the keys of a walk were dropped. */
  z.object({ kind: z.literal("walk-forgotten"), walkId: z.string() }),
  z.object({ kind: z.literal("learned"), name: z.string(), value: z.string(), now: ms }),
]);

/** One change of the working database. */
export type JournalEntry = z.output<typeof entrySchema>;
export type JournalRows = z.output<typeof rowsSchema>;

/** A change and its number: 1, 2, 3, ... over the life of the archive. */
export const journalEventSchema = z.object({ seq: z.int().positive(), entry: entrySchema });
export type JournalEvent = z.output<typeof journalEventSchema>;
