// Payloads of queued jobs: versioned, validated once when a worker takes a job. A payload has the version that wrote
// it (`v`) and the first version that can read it (`since`). What this program cannot read it leaves to another
// worker, because old and new programs run side by side during an upgrade.
import { z } from "zod";
import { familyResultSchema, problemSchema } from "../../../jobs/family.ts";
import { isStreamName } from "../../catalog/streams.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { syncReportSchema } from "../../core/report/sync-report.ts";
import { runIdSchema } from "../../core/text/run-id.ts";

/** Counts the changes of what this program writes. */
const VERSION = 2;
/**
 * The first version that can read what this program writes. Each kind changes on its own; a change that older programs
 * can ignore raises only VERSION.
 */
const SINCE = { ask: 1, result: 1 } as const;
/** Version 1 reads whatever is due. A sync of a part of that (`reset`, `datedAfter`) is not for it. */
const SINCE_OF_PARTS = Math.max(2, SINCE.ask);
/** Payloads of older versions are not readable. */
const OLDEST = 1;
/** The versions of each kind, as they stand in a payload. */
export const WRITTEN = {
  /** Syncs, exports and ticks that are asked for. */
  ask: { v: VERSION, since: SINCE.ask },
  /** Syncs of certain lists anew, or of what is dated after a day. */
  part: { v: VERSION, since: SINCE_OF_PARTS },
  /** How jobs ended. */
  result: { v: VERSION, since: SINCE.result },
} as const;
const version = z.int();
/** What every payload says of itself. */
export const versions = z.object({ v: version, since: version.optional() });
const streamName = z.string().refine(isStreamName, { error: "is not a stream" });

/** A sync: its organization, streams and families. */
export const syncPayload = z.object({
  ...versions.shape,
  /** Id of the sync, and of its first run. */
  syncId: runIdSchema,
  profile: z.string(),
  streams: z.array(streamName),
  families: z.array(z.string()),
  full: z.boolean(),
  /** `stream` or `stream:scope`: lists to read anew, and nothing else. Unset: none. Since version 2. */
  reset: z.array(z.string()).optional(),
  /** Day, like 2026-11-01: read what is dated after it, and nothing else. Since version 2. */
  datedAfter: z.string().optional(),
  /** The caller named exactly these streams. */
  named: z.boolean(),
  /** ms since the epoch. */
  askedAt: z.number(),
  /** W3C `traceparent` of the caller. */
  traceparent: z.string().optional(),
});
export type SyncPayload = z.output<typeof syncPayload>;

export const familyPayload = syncPayload.extend({ family: z.string() });

export const exportPayload = syncPayload.pick({ v: true, since: true, syncId: true, profile: true, traceparent: true });

/** A delivery: the sync that asked first, and the destination. */
export const deliverPayload = exportPayload.extend({ destination: z.string() });
export type DeliverPayload = z.output<typeof deliverPayload>;

/** A pass of an alert rule. */
export const alertPayload = exportPayload.omit({ syncId: true }).extend({ alert: z.string() });
export type AlertPayload = z.output<typeof alertPayload>;

/** A verification: its run id, organization and time. */
export const verifyPayload = syncPayload.pick({ v: true, since: true, syncId: true, profile: true, askedAt: true });
export type VerifyPayload = z.output<typeof verifyPayload>;

/** A tick: a schedule is due. */
export const tickPayload = z.object({
  ...versions.shape,
  profile: z.string(),
  /** Name of the schedule within its profile. */
  schedule: z.string(),
  streams: z.array(z.string()),
  full: z.boolean(),
  jitterMs: z.number(),
  /** The start was already delayed. */
  putOff: z.boolean().default(false),
});

/** Progress of a family's job, stored with the job while it runs, and its result at the end. */
export const familyProgress = z.object({
  ...versions.shape,
  results: z.array(familyResultSchema),
  /** Reason why it could not run; null: it ran. */
  problem: problemSchema.nullable(),
});
export type FamilyProgress = z.output<typeof familyProgress>;

/** End of a sync: the result of its publish job. */
export const syncOutcome = z.object({
  ...versions.shape,
  report: syncReportSchema,
  problem: problemSchema.nullable(),
  cancelled: z.boolean(),
});
/** End of a verification. `problem`: also what differs, which is a success. */
export const verifyOutcome = z.object({
  ...versions.shape,
  state: z.enum(["done", "stopped", "failed", "cancelled"]),
  report: z.unknown(),
  problem: problemSchema.nullable(),
});
export type VerifyOutcome = z.output<typeof verifyOutcome>;

export type StoredOutcome = z.output<typeof syncOutcome>;

/** What every version says of a sync that is asked for. */
export const syncHead = syncPayload.pick({ syncId: true, profile: true, askedAt: true });

/** Whether this program can read a payload. `newer` and `older` are for other programs, `none` is for nobody. */
export const readability = (payload: unknown): "readable" | "newer" | "older" | "none" => {
  const { v = 0, since = v } = versions.safeParse(payload).data ?? {};
  if (v < 1) return "none";
  if (since > VERSION) return "newer";
  return v < OLDEST ? "older" : "readable";
};

/** True for what only a program of another version reads. */
export const isForOthers = (payload: unknown): boolean => ["newer", "older"].includes(readability(payload));

/** The error of a payload that this program cannot read. */
export const unreadable = (job: string, payload: unknown, more = ""): DuckmirrorError => {
  const found = String(versions.safeParse(payload).data?.v ?? "none");
  return new DuckmirrorError("JOB_VERSION", { job, found: `${found}${more}`, known: VERSION });
};

/** A job's payload. `job` names it in the error. Throws JOB_VERSION. */
export const parsePayload = <T>(schema: z.ZodType<T>, job: string, payload: unknown): T => {
  const readable = readability(payload) === "readable";
  const parsed = schema.safeParse(payload);
  if (readable && parsed.success) return parsed.data;
  const issue = parsed.error?.issues[0];
  throw unreadable(job, payload, readable ? `, but ${issue?.path.join(".")}: ${issue?.message}` : "");
};
