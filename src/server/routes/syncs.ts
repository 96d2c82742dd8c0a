// Starts, shows and cancels syncs: POST /api/syncs (202 with a run id), GET and DELETE /api/syncs/{id}, POST
// /api/verifications. The triggers do the work.
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { withParents } from "../../catalog/streams.ts";
import { mapAtOnce } from "../../core/async/concurrency.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { RequestedSync, Started, SyncTriggers } from "../../core/report/triggers.ts";
import { parseDuration } from "../../core/text/units.ts";
import { deliveryFigures } from "../../deliver/delivery-results.ts";
import { notesOf } from "../audit-trail/request-notes.ts";
import { publishedAt } from "../figures/overview.ts";
import { notFound, parseBody } from "../http/refusals.ts";
import type { FollowedCompanies, Mirror, ServerContext } from "../http/server-context.ts";

// Followed companies: GET /api/following lists them, POST adds inputs, DELETE removes some.

/** Most inputs of one request; a list of more comes in several. */
const MOST_INPUTS = 10_000;

const inputsSchema = z.strictObject({
  inputs: z.array(z.string()).min(1).max(MOST_INPUTS),
  profile: z.string().nullable().default(null),
});
const removeSchema = inputsSchema.extend({ erase: z.boolean().default(false) });

export const followingRoutes = (app: FastifyInstance, context: ServerContext): void => {
  const companiesOf = ({ following }: Mirror): FollowedCompanies => {
    if (following === undefined) throw notFound("list of followed companies on this server");
    return following;
  };

  app.get("/api/following", async (request) => {
    return { following: await companiesOf(context.mirrorOf(request)).list() };
  });

  app.post("/api/following", async (request) => {
    const { inputs, profile } = parseBody(inputsSchema, request.body);
    const result = await companiesOf(context.target(profile)).add(inputs);
    notesOf(request).rows = result.added.length;
    return result;
  });

  app.delete("/api/following", async (request) => {
    const { inputs, profile, erase } = parseBody(removeSchema, request.body);
    const result = await companiesOf(context.target(profile)).remove(inputs, erase);
    notesOf(request).rows = result.removed.length;
    return result;
  });
};

/** GET /api/destinations: how far each destination is behind the published snapshot. */
export const destinationRoutes = (app: FastifyInstance, context: ServerContext): void => {
  app.get("/api/destinations", async (request) => {
    const { snapshots, deliveries } = context.mirrorOf(request);
    const present = await snapshots.use(publishedAt);
    const states = (await deliveries?.()) ?? [];
    return { destinations: states.map((one) => deliveryFigures(one, present)) };
  });
};

/** GET /api/fleet: queues, members and pauses of the fleet, for programs and the page. */
export const fleetRoutes = (app: FastifyInstance, { fleet }: ServerContext): void => {
  app.get("/api/fleet", async () => {
    if (fleet === undefined) throw notFound("fleet of workers without Redis");
    return fleet();
  });
};

const timeoutSchema = z
  .string()
  .transform((text, context): number => {
    const ms = parseDuration(text);
    if (ms !== null && ms > 0) return ms;
    context.addIssue({ code: "custom", message: `"${text.slice(0, 40)}" is not a duration like 90s, 15m or 2h` });
    return z.NEVER;
  })
  .nullable()
  .default(null);

const askSchema = z
  .strictObject({
    streams: z.array(z.string()).default([]),
    full: z.boolean().default(false),
    reset: z.array(z.string()).default([]),
    since: z.string().nullable().default(null),
    with_parents: z.boolean().default(false),
    profile: z.string().nullable().default(null),
    all_profiles: z.boolean().default(false),
    timeout: timeoutSchema,
  })
  .refine((ask) => !(ask.all_profiles && ask.profile !== null), {
    path: ["all_profiles"],
    message: "excludes `profile`",
  })
  .prefault({});

const verifySchema = z.strictObject({ profile: z.string().nullable().default(null) }).prefault({});

/** Profiles whose syncs are requested at once, when all are. */
const STARTS_AT_ONCE = 50;

/** Longer values belong to no known version (W3C Trace Context, section 3.2). */
const MOST_TRACEPARENT = 128;

const headerText = (value: string | string[] | undefined): string | null => {
  const text = (Array.isArray(value) ? value[0] : value)?.trim() ?? "";
  if (text.length > 255)
    throw new DuckmirrorError("USAGE", { detail: "Idempotency-Key is longer than 255 characters" });
  return text === "" ? null : text;
};

const partOf = ({ reset, since }: z.output<typeof askSchema>) => ({
  ...(reset.length === 0 ? {} : { reset }),
  ...(since === null ? {} : { since }),
});

const startedJson = ({ runId, joined }: Started) => ({ run_id: runId, joined, url: `/api/syncs/${runId}` });

/** A run as the page and programs get it. */
export const runJson = ({ runId, askedAt, dueAt = null, progress = null, ...run }: RequestedSync) => ({
  run_id: runId,
  asked_at: askedAt,
  ...run,
  due_at: dueAt,
  progress,
});

export const syncRoutes = (app: FastifyInstance, context: ServerContext): void => {
  const triggers = (): SyncTriggers => {
    if (context.triggers === undefined) throw new DuckmirrorError("SYNCS_NOT_STARTED_HERE");
    return context.triggers;
  };

  app.post("/api/syncs", async (request, reply) => {
    const ask = parseBody(askSchema, request.body);
    const idempotencyKey = headerText(request.headers["idempotency-key"]);
    const named = ask.streams.map((name) => name.trim()).filter((name) => name !== "");
    const streams = ask.with_parents ? withParents(named) : named;
    if (!ask.all_profiles) context.target(ask.profile);
    const { traceparent } = request.headers;
    const traced = typeof traceparent === "string" && traceparent.length <= MOST_TRACEPARENT ? { traceparent } : {};
    const { full, profile, timeout: timeoutMs } = ask;
    const wanted = { streams, full, ...partOf(ask), timeoutMs, idempotencyKey, ...traced };
    if (ask.all_profiles) {
      const syncs = await mapAtOnce(context.mirrors, STARTS_AT_ONCE, async ({ name }) => {
        const started = await triggers().start({ ...wanted, profile: name });
        notesOf(request).runIds.set(name, started.runId);
        return { profile: name, ...startedJson(started) };
      });
      reply.code(202);
      return { syncs };
    }
    const started = await triggers().start({ ...wanted, profile });
    notesOf(request).runId = started.runId;
    reply.code(202).header("location", `/api/syncs/${started.runId}`);
    return startedJson(started);
  });

  app.post("/api/verifications", async (request, reply) => {
    const { profile } = parseBody(verifySchema, request.body);
    context.target(profile);
    const { verify } = triggers();
    if (verify === undefined) throw new DuckmirrorError("SYNCS_NOT_STARTED_HERE");
    const started = await verify.call(triggers(), { profile });
    notesOf(request).runId = started.runId;
    reply.code(202).header("location", `/api/syncs/${started.runId}`);
    return startedJson(started);
  });

  app.get("/api/syncs", async () => {
    const active = (await triggers().active?.()) ?? [];
    const isUnderWay = ({ state }: RequestedSync) => state === "queued" || state === "running";
    return { runs: active.filter(isUnderWay).map(runJson) };
  });

  app.get<{ Params: { id: string } }>("/api/syncs/:id", async (request) => {
    const run = await triggers().find(request.params.id);
    if (run === null) throw notFound("such run");
    return runJson(run);
  });

  app.delete<{ Params: { id: string } }>("/api/syncs/:id", async (request, reply) => {
    if (!(await triggers().cancel(request.params.id))) throw notFound("such run under way");
    notesOf(request).runId = request.params.id;
    reply.code(202);
    return { run_id: request.params.id, cancelling: true };
  });
};
