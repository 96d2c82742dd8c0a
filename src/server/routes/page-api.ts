// Serves what the page shows as JSON, GET only: figures of the snapshot, runs and their requests, findings, progress, alerts, settings, what
// each mirror's page may do, and the next sync's cost. `?profile=` names the mirror; the default is the first.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { contentFields } from "../../catalog/field-rules.ts";
import { STREAM_NAMES } from "../../catalog/streams.ts";
import type { Clock } from "../../core/clock.ts";
import { describedTables } from "../../warehouse/file/views.ts";
import { readRuns } from "../../warehouse/read/read-run.ts";
import { mayOperate } from "../audit-trail/request-notes.ts";
import { ACCOUNTS_SHOWN, readAccount, readAccounts } from "../figures/accounts.ts";
import { RUNS_SHOWN, readFindings, readOverview, readRowsOverTime, readVerdict } from "../figures/overview.ts";
import { readRun, readRunRequests } from "../figures/run-detail.ts";
import { readFunctions, readTable } from "../figures/tables.ts";
import { notFound } from "../http/refusals.ts";
import type { Mirror, ServerContext } from "../http/server-context.ts";
import { namesSchema } from "./search.ts";

// Forecast of the next sync for the page: computed once per snapshot and minute, one at a time over all profiles,
// because each opens its own database.

/** Life of a forecast, because due work also changes with time, ms. */
const FRESH_MS = 60_000;

interface Kept {
  readonly version: string | null;
  readonly at: number;
  readonly plan: Promise<unknown>;
}

/** Forecasts kept at once, the latest ones: with other content it is another forecast. */
const MOST_KEPT = 100;

type PlannedMirror = Pick<Mirror, "name" | "plan"> & { readonly snapshots: Pick<Mirror["snapshots"], "version"> };

/** The plan of a mirror with this opt-in content and these lists; null if the server shows none. */
export type PlanOf = (
  mirror: PlannedMirror,
  withContent: readonly string[],
  streams?: readonly string[],
) => Promise<unknown> | null;

/** Plans reject with their error; the next reader tries again. */
export const createPlans = (clock: Clock): PlanOf => {
  const kept = new Map<string, Kept>();
  let computing: Promise<unknown> = Promise.resolve();
  return ({ name, plan, snapshots }, withContent, streams = []) => {
    if (plan === undefined) return null;
    const version = snapshots.version();
    const key = JSON.stringify([name, [...new Set(withContent)], [...new Set(streams)]]);
    const known = kept.get(key);
    if (known !== undefined && known.version === version && clock.now() - known.at < FRESH_MS) return known.plan;
    const next = computing.then(() => plan(withContent, streams));
    computing = next.catch(() => kept.delete(key));
    kept.delete(key);
    kept.set(key, { version, at: clock.now(), plan: next });
    for (const oldest of [...kept.keys()].slice(0, Math.max(0, kept.size - MOST_KEPT))) kept.delete(oldest);
    return next;
  };
};

/** The latest time that SQL can represent, ms since the epoch. */
const LATEST_MS = 8.64e15;
const runsSchema = z.object({ before: z.coerce.number().min(0).max(LATEST_MS).optional() });
const requestsSchema = z.object({
  stream: z.string().optional(),
  offset: z.coerce.number().int().min(0).max(10_000_000).default(0),
});
const accountsSchema = z.object({
  q: z.string().max(200).default(""),
  offset: z.coerce.number().int().min(0).max(10_000_000).default(0),
});
const planSchema = z.object({ with: namesSchema, streams: namesSchema });
/** Requests shown at once. */
const REQUESTS_SHOWN = 100;

/** Why this process cannot sync the profile; null: it can, or it syncs none. */
const problemOf = ({ unable = () => [] }: ServerContext, name: string) => {
  const found = unable().find(({ profile }) => profile === name);
  if (found === undefined) return null;
  const { code, message, hint } = found;
  return { code, message, hint };
};

/** What this server can do, and for which profiles. */
export const abilitiesOf = (context: ServerContext, request: FastifyRequest) => ({
  version: context.version,
  may_operate: mayOperate(request),
  profiles: context.mirrors.map((mirror) => ({
    name: mirror.name,
    published: mirror.snapshots.version() !== null,
    plan: mirror.plan !== undefined,
    feedback: mirror.sendFeedback !== undefined,
    following: mirror.following !== undefined,
    destinations: mirror.deliveries !== undefined,
    settings: mirror.settings !== undefined,
    alerts: mirror.alerts !== undefined,
    /** Configured lists. */
    streams: mirror.streams ?? STREAM_NAMES,
    problem: problemOf(context, mirror.name),
  })),
  syncs: context.triggers !== undefined,
  verify: context.triggers?.verify !== undefined,
  fleet: context.fleet !== undefined,
  login: context.keyring.required(),
  /** Every list, and all opt-in content, that a plan may be asked for. */
  streams: STREAM_NAMES,
  content: contentFields().map(({ stream, field }) => `${stream}.${field}`),
});

/** The figures of the page, with the verdict of now. */
export const statusOf = async (context: ServerContext, { name, ratePerMinute, snapshots, nextSyncAt }: Mirror) => {
  const now = context.clock.now();
  const next_sync_at = nextSyncAt?.() ?? null;
  const figures = await snapshots.use(async (snapshot) => ({
    verdict: await readVerdict(snapshot, now, next_sync_at),
    next_sync_at,
    ...(await readOverview(snapshot)),
  }));
  const user_sql = await context.userSql.offered();
  return { now, user_sql, profile: name, rate_allowed: ratePerMinute, ...figures };
};

export const pageApiRoutes = (app: FastifyInstance, context: ServerContext): void => {
  const planOf = createPlans(context.clock);

  app.get("/api/profiles", async (request) => abilitiesOf(context, request));

  app.get("/api/status", (request) => statusOf(context, context.mirrorOf(request)));

  app.get("/api/growth", async (request) => ({
    growth: await context.read(request, readRowsOverTime),
  }));

  app.get("/api/plan", async (request) => {
    const { with: content, streams } = planSchema.parse(request.query);
    const answer = planOf(context.mirrorOf(request), content, streams);
    if (answer === null) throw notFound("forecast on this server");
    return answer;
  });

  app.get("/api/runs", async (request) => {
    const { before } = runsSchema.parse(request.query);
    const runs = await context.read(request, (snapshot) =>
      readRuns(snapshot, snapshot.looks, before ?? null, RUNS_SHOWN),
    );
    return { runs };
  });

  app.get<{ Params: { id: string } }>("/api/runs/:id", async (request) =>
    context.read(request, (snapshot) => readRun(snapshot, request.params.id)),
  );

  app.get<{ Params: { id: string } }>("/api/runs/:id/requests", async (request) => {
    const { stream, offset } = requestsSchema.parse(request.query);
    const page = { stream: stream ?? null, limit: REQUESTS_SHOWN, offset };
    const requests = await context.read(request, (snapshot) => readRunRequests(snapshot, request.params.id, page));
    return { requests, more: requests.length === REQUESTS_SHOWN };
  });

  recordRoutes(app, context);
};

/** What the snapshot holds: tables with their meaning, accounts; and what is on the data directory beside it. */
const recordRoutes = (app: FastifyInstance, context: ServerContext): void => {
  app.get("/api/tables", async (request) => ({
    tables: await describedTables(),
    functions: await context.read(request, readFunctions),
  }));

  app.get<{ Params: { name: string } }>("/api/tables/:name", async (request) =>
    context.read(request, (snapshot) => readTable(snapshot, request.params.name)),
  );

  app.get("/api/accounts", async (request) => {
    const { q, offset } = accountsSchema.parse(request.query);
    const found = await context.read(request, (snapshot) => readAccounts(snapshot, q.trim(), offset));
    const accounts = found.map(({ total: _total, ...account }) => account);
    return { accounts, total: found[0]?.total ?? 0, more: found.length === ACCOUNTS_SHOWN };
  });

  app.get<{ Params: { id: string } }>("/api/accounts/:id", async (request) =>
    context.read(request, (snapshot) => readAccount(snapshot, request.params.id)),
  );

  app.get("/api/findings", async (request) => context.read(request, readFindings));

  app.get("/api/progress", async (request) => ({ progress: (await context.mirrorOf(request).progress?.()) ?? null }));

  app.get("/api/alerts", async (request) => ({ alerts: (await context.mirrorOf(request).alerts?.()) ?? [] }));

  app.get("/api/settings", async (request) => {
    const { settings } = context.mirrorOf(request);
    if (settings === undefined) throw notFound("list of settings on this server");
    return { settings: settings() };
  });
};
