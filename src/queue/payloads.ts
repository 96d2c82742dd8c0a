// What queued jobs carry: versioned, parsed once where a worker takes a job. A payload says which version wrote it (`v`) and
// from which version on programs can read it (`since`). A job that this program cannot read is left to another worker: while
// a fleet is upgraded, old and new ones run side by side.
import { z } from "zod";
import { familyResultSchema, problemSchema } from "../../jobs/family.ts";
import { isStreamName } from "../catalog/streams.ts";
import { DuckmirrorError } from "../core/errors.ts";
import { syncReportSchema } from "../core/sync-report.ts";

/** What this program writes: a change that older programs can ignore raises `v` alone. */
export const WRITTEN = { v: 1, since: 1 } as const;
/** Payloads of older versions are not read. */
const OLDEST = 1;
const versions = z.object({ v: z.int(), since: z.int().optional() });
const version = z.int();
const streamName = z.string().refine(isStreamName, { error: "is not a stream" });

/** A sync: which streams of which organization, in which families. */
export const syncPayload = z.object({
  v: version,
  since: version.optional(),
  /** Id of the sync, and of its first run. */
  syncId: z.string(),
  profile: z.string(),
  streams: z.array(streamName),
  families: z.array(z.string()),
  full: z.boolean(),
  /** Somebody asked for exactly these streams. */
  named: z.boolean(),
  /** ms since the epoch. */
  askedAt: z.number(),
  /** W3C `traceparent` of whoever asked. */
  traceparent: z.string().optional(),
});
export type SyncPayload = z.output<typeof syncPayload>;

export const familyPayload = syncPayload.extend({ family: z.string() });

export const exportPayload = syncPayload.pick({ v: true, since: true, syncId: true, profile: true, traceparent: true });

/** A schedule fell due. */
export const tickPayload = z.object({
  v: version,
  since: version.optional(),
  profile: z.string(),
  /** Names the schedule within its profile. */
  schedule: z.string(),
  streams: z.array(z.string()),
  full: z.boolean(),
  jitterMs: z.number(),
  /** The start was put off already. */
  putOff: z.boolean().default(false),
});

/** What a family's job has done so far, kept with the job while it runs, and its result at the end. */
export const familyProgress = z.object({
  v: version,
  results: z.array(familyResultSchema),
  /** Why it could not run; null: it ran. */
  problem: problemSchema.nullable(),
});
export type FamilyProgress = z.output<typeof familyProgress>;

/** How a sync ended: the result of its publish job. */
export const syncOutcome = z.object({
  v: version,
  report: syncReportSchema,
  problem: problemSchema.nullable(),
  cancelled: z.boolean(),
});
export type StoredOutcome = z.output<typeof syncOutcome>;

/** Whether this program can read a payload: `newer` and `older` are for other programs. */
export const readability = (payload: unknown): "readable" | "newer" | "older" => {
  const { v = 0, since = v } = versions.safeParse(payload).data ?? {};
  if (since > WRITTEN.v) return "newer";
  return v < OLDEST ? "older" : "readable";
};

/** A job's payload. `job` names it in the error. Throws JOB_VERSION. */
export const parsePayload = <T>(schema: z.ZodType<T>, job: string, payload: unknown): T => {
  const readable = readability(payload) === "readable";
  const parsed = schema.safeParse(payload);
  if (readable && parsed.success) return parsed.data;
  const found = versions.safeParse(payload).data?.v;
  const issue = parsed.error?.issues[0];
  const what = readable ? `${found}, but ${issue?.path.join(".")}: ${issue?.message}` : String(found ?? "none");
  throw new DuckmirrorError("JOB_VERSION", { job, found: what, known: WRITTEN.v });
};
