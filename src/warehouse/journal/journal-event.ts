// Schemas of the journal's entries: every change of the working database, in order, written before the change is made. An entry does not
// repeat rows: a commit names the archived responses that it loads.
import { z } from "zod";
import { isStreamName } from "../../catalog/streams.ts";
import { TABLE_NAMES, type TableName } from "../../catalog/tables.ts";
import type { JsonValue } from "../../core/json.ts";
import { quotaSchema, requestSchema, scopeSchema } from "../record/checkpoint.ts";
import { scopeMarkSchema } from "./scope-mark.ts";

const stream = z.string().refine(isStreamName);
const isTable = (name: string): name is TableName => TABLE_NAMES.some((table) => table === name);
const table = z.string().refine(isTable);
const ms = z.number();
const json = z.json().transform((value): JsonValue => value);

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
    /** Number of the last change in the feed. */
    changes: z.number(),
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
      .readonly(),
    /** Hashes of those whose row is deleted now, in the order of these deletes in the feed. */
    deleted: z.array(z.string()).readonly(),
  }),
  /** The change feed was emptied and starts after this number with the rows that exist. */
  z.object({ kind: z.literal("feed-started"), after: z.number(), now: ms }),
  /** Rows were marked as inside or outside the row scope. The end of a run marks followers without an entry of its own. */
  z.object({ kind: z.literal("marked"), mark: scopeMarkSchema }),
  z.object({ kind: z.literal("learned"), name: z.string(), value: z.string(), now: ms }),
]);

export type JournalEntry = z.output<typeof entrySchema>;
export type JournalRows = z.output<typeof rowsSchema>;

/** A change and its number: 1, 2, 3, ... over the life of the archive. */
export const journalEventSchema = z.object({ seq: z.int().positive(), entry: entrySchema });
export type JournalEvent = z.output<typeof journalEventSchema>;
