// THE schemas of job payloads and stored results of every queue: versioned, validated once when a worker takes a job. A payload has the
// version that wrote it (`v`) and the first version that can read it (`since`). A worker leaves a payload that it cannot read to a
// newer one, because old and new programs run side by side during an upgrade.
import { z } from "zod";
import { runResultSchema } from "../../../jobs/publish.ts";
import { isStreamName } from "../../catalog/streams.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { problemSchema } from "../../core/report/problem.ts";
import { syncReportSchema } from "../../core/report/sync-report.ts";
import { runIdSchema } from "../../core/text/run-id.ts";

/** Counts the changes of what this program writes. */
export const VERSION = 1;
/**
 * What every payload says of itself: the version that wrote it, and the first one that can read it. A change that older programs
 * can ignore raises only VERSION.
 */
export const WRITTEN = { v: VERSION, since: 1 } as const;
/**
 * The same of a sync, and of what is kept of it while it runs. A change of these alone leaves older programs the results, which
 * their callers wait for during an upgrade.
 */
export const SYNC_WRITTEN = { v: VERSION, since: 1 } as const;
export const versions = z.object({ v: z.int(), since: z.int() });
const streamName = z.string().refine(isStreamName, { error: "is not a stream" });

/** A sync: its organization and streams. */
export const syncPayload = z.object({
  ...versions.shape,
  /** Id of the sync, and of its first run. */
  syncId: runIdSchema,
  profile: z.string(),
  streams: z.array(streamName),
  full: z.boolean(),
  /** `stream` or `stream:scope`: lists to read anew, and nothing else. Unset: none. */
  reset: z.array(z.string()).optional(),
  /** Day, like 2026-11-01: read what is dated after it, and nothing else. */
  datedAfter: z.string().optional(),
  /** The caller named exactly these streams. */
  named: z.boolean(),
  /** ms since the epoch. */
  askedAt: z.number(),
  /** W3C `traceparent` of the caller. */
  traceparent: z.string().optional(),
});
export type SyncPayload = z.output<typeof syncPayload>;

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
  putOff: z.boolean(),
});

/** End of a sync: the result of its job. */
export const syncOutcome = z.object({
  ...versions.shape,
  report: syncReportSchema,
  problem: problemSchema.nullable(),
  cancelled: z.boolean(),
});
export type StoredOutcome = z.output<typeof syncOutcome>;

/** What is stored with the job of a sync while it runs: results of its runs, and its end where that is a dead letter. */
export const keptSync = z.object({
  ...versions.shape,
  results: z.array(runResultSchema),
  outcome: syncOutcome.nullable(),
});

/** End of a verification. `partial`: it found something wrong. */
export const verifyOutcome = z.object({
  ...versions.shape,
  state: z.enum(["done", "partial", "stopped", "failed", "cancelled"]),
  report: z.unknown(),
  problem: problemSchema.nullable(),
});
export type VerifyOutcome = z.output<typeof verifyOutcome>;

/** What every version says of a sync that is asked for. */
export const syncHead = syncPayload.pick({ syncId: true, profile: true, askedAt: true });

/** Whether this program can read a payload. `newer` is for other programs, `none` is for nobody. */
export const readability = (payload: unknown): "readable" | "newer" | "none" => {
  const { v = 0, since = 0 } = versions.safeParse(payload).data ?? {};
  if (v < 1) return "none";
  return since > VERSION ? "newer" : "readable";
};

/** The first version that can read a payload; 0: it says none. */
export const firstReader = (payload: unknown): number => versions.safeParse(payload).data?.since ?? 0;

/** True for what only a newer program reads. */
export const isForOthers = (payload: unknown): boolean => readability(payload) === "newer";

const SHOWN_CHARACTERS = 200;

/** An id that Redis says, for a message: short, on one line. */
export const shownId = (id: string): string => JSON.stringify(id.slice(0, SHOWN_CHARACTERS)).slice(1, -1);

/** The error of a payload that this program cannot read. */
export const unreadable = (job: string, payload: unknown, more = ""): DuckmirrorError => {
  const found = String(versions.safeParse(payload).data?.v ?? "none");
  return new DuckmirrorError("JOB_VERSION", { job: shownId(job), found: `${found}${more}`, known: VERSION });
};

/** A job's payload. `job` names it in the error. Throws JOB_VERSION. */
export const parsePayload = <T>(schema: z.ZodType<T>, job: string, payload: unknown): T => {
  const readable = readability(payload) === "readable";
  const parsed = schema.safeParse(payload);
  if (readable && parsed.success) return parsed.data;
  const issue = parsed.error?.issues[0];
  throw unreadable(job, payload, readable ? `, but ${issue?.path.join(".")}: ${issue?.message}` : "");
};
