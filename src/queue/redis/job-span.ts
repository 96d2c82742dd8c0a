// Adds a span to a BullMQ job, in the trace of the request for its sync.
import { DelayedError, type Job } from "bullmq";
import { z } from "zod";
import { runIdSchema } from "../../core/text/run-id.ts";
import { errorTypeOf, type Tracer } from "../../core/tracing.ts";

const payloadSchema = z.object({
  syncId: runIdSchema,
  profile: z.string(),
  traceparent: z.string().optional(),
});

/** Runs a job of a sync in a span. Postponing is no failure. Throws the errors of `work`. */
export const inJobSpan = async <T>(tracer: Tracer, job: Job, work: () => Promise<T>): Promise<T> => {
  const payload = payloadSchema.safeParse(job.data).data;
  const span = tracer.start(`job ${job.name}`, {
    kind: "consumer",
    traceparent: payload?.traceparent,
    attributes: { "duckmirror.profile": payload?.profile, "duckmirror.run.id": payload?.syncId },
  });
  try {
    return await work();
  } catch (error) {
    if (error instanceof DelayedError) span.set({ "duckmirror.put_off": true });
    else span.fail(errorTypeOf(error));
    throw error;
  } finally {
    span.end();
  }
};
