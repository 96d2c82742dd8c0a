// Payloads of queued jobs: versioned, validated once when a worker takes a job. A payload has the version that wrote
// it (`v`) and the first version that can read it (`since`). A job that this program cannot read is left to another
// worker, because old and new programs run side by side during an upgrade.
import { z } from "zod";
import { familyResultSchema, problemSchema } from "../../jobs/family.ts";
import { isStreamName } from "../catalog/streams.ts";
import { DuckmirrorError } from "../core/errors.ts";
import { syncReportSchema } from "../core/sync-report.ts";

/** Version written by this program. A change that older programs can ignore raises only `v`. */
export const WRITTEN = { v: 1, since: 1 } as const;
/** Payloads of older versions are not readable. */
const OLDEST = 1;
const versions = z.object({ v: z.int(), since: z.int().optional() });
const version = z.int();
const streamName = z.string().refine(isStreamName, { error: "is not a stream" });

/** A sync: its organization, streams and families. */
export const syncPayload = z.object({
  v: version,
  since: version.optional(),
  /** Id of the sync, and of its first run. */
  syncId: z.string(),
  profile: z.string(),
  streams: z.array(streamName),
  families: z.array(z.string()),
  full: z.boolean(),
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

/** A tick: a schedule is due. */
export const tickPayload = z.object({
  v: version,
  since: version.optional(),
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
  v: version,
  results: z.array(familyResultSchema),
  /** Reason why it could not run; null: it ran. */
  problem: problemSchema.nullable(),
});
export type FamilyProgress = z.output<typeof familyProgress>;

/** End of a sync: the result of its publish job. */
export const syncOutcome = z.object({
  v: version,
  report: syncReportSchema,
  problem: problemSchema.nullable(),
  cancelled: z.boolean(),
});
export type StoredOutcome = z.output<typeof syncOutcome>;

/** Whether this program can read a payload; `newer` and `older` ones are for other programs. */
export const readability = (payload: unknown): "readable" | "newer" | "older" => {
  const { v = 0, since = v } = versions.safeParse(payload).data ?? {};
  if (since > WRITTEN.v) return "newer";
  return v < OLDEST ? "older" : "readable";
};

/** Payload of a job; `job` is its name for the error. Throws JOB_VERSION. */
export const parsePayload = <T>(schema: z.ZodType<T>, job: string, payload: unknown): T => {
  const readable = readability(payload) === "readable";
  const parsed = schema.safeParse(payload);
  if (readable && parsed.success) return parsed.data;
  const found = versions.safeParse(payload).data?.v;
  const issue = parsed.error?.issues[0];
  const what = readable ? `${found}, but ${issue?.path.join(".")}: ${issue?.message}` : String(found ?? "none");
  throw new DuckmirrorError("JOB_VERSION", { job, found: what, known: WRITTEN.v });
};
