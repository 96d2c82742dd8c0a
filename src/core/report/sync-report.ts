// Report of one sync: the object printed by `sync --json` (contract of the command line).

import { z } from "zod";
import { DuckmirrorError } from "../errors.ts";
import { runIdSchema } from "../text/run-id.ts";

/** `full`: walk every list. `incremental`: read only likely changes. */
const syncModeSchema = z.enum(["full", "incremental"]);
export type SyncMode = z.output<typeof syncModeSchema>;

/** `stopped`: the allowance or the quota ended it; the next sync continues. `skipped`: nothing was due. */
const streamStatusSchema = z.enum(["done", "stopped", "failed", "interrupted", "skipped"]);
export type StreamStatus = z.output<typeof streamStatusSchema>;

/** `partial`: some streams failed, the others are committed. */
const runStatusSchema = z.enum(["done", "stopped", "partial", "failed", "interrupted"]);
export type RunStatus = z.output<typeof runStatusSchema>;

const count = z.int().nonnegative();
const instant = z.iso.datetime();

const verdictSchema = z.object({
  /** Every list of the stream is proven complete, and the run left none of its work. */
  complete: z.boolean().default(false),
  /** Number of rows that could not be confirmed; null: unknown. */
  unconfirmed: count.nullable().default(0),
  /** Why it is not complete, in one sentence. */
  reason: z.string().optional(),
});
export type StreamVerdict = z.output<typeof verdictSchema>;

const figuresSchema = z.object({
  requests: count,
  credits: count,
  pages: count,
  inserted: count,
  updated: count,
  deleted: count,
  unchanged: count,
  rejected: count,
});
/** What a stream, or a part of its work, came to. */
export type Figures = z.output<typeof figuresSchema>;
export const FIGURES = figuresSchema.keyof().options;

/** Figures of several parts together. */
export const sumOfFigures = (parts: readonly Figures[]): Figures => {
  const sum: Figures = {
    requests: 0,
    credits: 0,
    pages: 0,
    inserted: 0,
    updated: 0,
    deleted: 0,
    unchanged: 0,
    rejected: 0,
  };
  for (const part of parts) for (const name of FIGURES) sum[name] += part[name];
  return sum;
};

const streamReportSchema = z.object({
  stream: z.string(),
  /** Strategy used, e.g. `walk`, `watermark`. */
  mode: z.string(),
  status: streamStatusSchema,
  ...figuresSchema.shape,
  ...verdictSchema.shape,
  error: z.string().optional(),
});
export type StreamReport = z.output<typeof streamReportSchema>;

/** Result of one of the user's checks, without the failing rows. */
const checkSchema = z.object({
  check: z.string(),
  severity: z.enum(["error", "warn"]),
  status: z.enum(["passed", "failed", "broken"]),
  /** Rows that it returned; null: it could not run. */
  failing: count.nullable(),
});
export type CheckReport = z.output<typeof checkSchema>;

export const syncReportSchema = z.object({
  run_id: runIdSchema,
  status: runStatusSchema,
  mode: syncModeSchema,
  started_at: instant,
  finished_at: instant,
  requests: count,
  credits: z.object({
    spent: count,
    /** Requests without a status line; each may have cost one more credit. */
    ambiguous: count.default(0),
    /** null when the service has not reported it. */
    remaining: z.int().nullable(),
    limit: z.int().nullable(),
    resets_at: instant.nullable(),
  }),
  streams: z.array(streamReportSchema),
  /** Unset: the setting `checks` names none, or nothing was published yet. */
  checks: z.array(checkSchema).optional(),
  /** Path of the published snapshot. */
  warehouse: z.string(),
});
export type SyncReport = z.output<typeof syncReportSchema>;

/** Report of a run, and the reason if it is incomplete. */
export interface SyncResult {
  readonly report: SyncReport;
  /** null: all due work is done. */
  readonly error: DuckmirrorError | null;
}

/** A fault, such as a full disk, with the report of what the run had done by then. */
export class BrokenRun extends DuckmirrorError {
  readonly report: SyncReport;

  constructor(fault: DuckmirrorError, report: SyncReport) {
    const { cause: _, ...context } = fault.context;
    super(fault.code, context, { cause: fault });
    this.report = report;
  }
}

/** Result of a run, also of one that a fault with a code ended. Rejects on other faults. */
export const orBroken = async (run: Promise<SyncResult>): Promise<SyncResult> => {
  try {
    return await run;
  } catch (error) {
    if (error instanceof BrokenRun) return { report: error.report, error };
    throw error;
  }
};
