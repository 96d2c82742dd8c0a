// The report of one sync: exactly the object that `sync --json` prints (contract of the command line).
import { z } from "zod";

/** `full`: every list was to be walked. `incremental`: only what may have changed. */
const syncModeSchema = z.enum(["full", "incremental"]);
export type SyncMode = z.output<typeof syncModeSchema>;

/** `stopped`: the allowance or the quota ended it; it goes on where it stands. `skipped`: nothing was due. */
const streamStatusSchema = z.enum(["done", "stopped", "failed", "interrupted", "skipped"]);
export type StreamStatus = z.output<typeof streamStatusSchema>;

/** `partial`: some streams failed, the others are committed. */
const runStatusSchema = z.enum(["done", "stopped", "partial", "failed", "interrupted"]);
export type RunStatus = z.output<typeof runStatusSchema>;

const count = z.int().nonnegative();
const instant = z.iso.datetime();

const verdictSchema = z.object({
  /** Every list of the stream is proven to be complete, and the run left nothing of it undone. */
  complete: z.boolean().default(false),
  /** Rows that could not be confirmed, as far as their number is known. */
  unconfirmed: count.default(0),
  /** Why it is not complete. */
  unconfirmed_because: z.string().optional(),
});
export type StreamVerdict = z.output<typeof verdictSchema>;

const streamReportSchema = z.object({
  stream: z.string(),
  /** Strategy that was followed, e.g. `walk`, `watermark`. */
  mode: z.string(),
  status: streamStatusSchema,
  requests: count,
  credits: count,
  pages: count,
  inserted: count,
  updated: count,
  deleted: count,
  unchanged: count,
  rejected: count,
  ...verdictSchema.shape,
  error: z.string().optional(),
});
export type StreamReport = z.output<typeof streamReportSchema>;

export const syncReportSchema = z.object({
  run_id: z.string(),
  status: runStatusSchema,
  mode: syncModeSchema,
  started_at: instant,
  finished_at: instant,
  requests: count,
  credits: z.object({
    spent: count,
    /** Requests that ended before a status line: each may have cost one credit more. */
    ambiguous: count.default(0),
    /** null where the service never said. */
    remaining: z.int().nullable(),
    limit: z.int().nullable(),
    resets_at: instant.nullable(),
  }),
  streams: z.array(streamReportSchema),
  /** Path of the published snapshot. */
  warehouse: z.string(),
});
export type SyncReport = z.output<typeof syncReportSchema>;
