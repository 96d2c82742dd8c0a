// Writes requests to the audit trail of their profile: actions before they start and before their answer is sent; queries,
// logins and refusals before the answer; other requests not at all. If a required trail cannot be written, the action does
// not start; if it was done, its answer is replaced by an error.
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { isStreamName } from "../../catalog/streams.ts";
import { matchRoute } from "../../replica/query/route-match.ts";
import { Refusal } from "../../replica/refusal.ts";
import type { Action } from "../../warehouse/audit/audit-line.ts";
import type { AuditedAction, AuditTrail, Result } from "../../warehouse/audit/trail.ts";
import { isSafe } from "../access/access-checks.ts";
import { errorAnswer } from "../http/refusals.ts";
import type { Mirror, ServerContext } from "../http/server-context.ts";
import { notesOf, type RequestNotes } from "./request-notes.ts";

// Limits lines of the audit trail that are alike, so that nobody fills the disk: of refused requests, and of the same reads by
// the same key. The next line has the number of those without one. Pure but for its own counts.

const MINUTE_MS = 60_000;
/** Kinds whose counts are kept; the oldest is written and forgotten first. */
const MOST_KINDS = 1_000;

interface Count {
  readonly since: number;
  readonly lines: number;
  readonly unwritten: number;
}
const NONE: Count = { since: 0, lines: 0, unwritten: 0 };

interface LineCounts<T> {
  /** Counts one request of a kind, which has at most `most` lines within `withinMs`, by default a minute. null: it gets no line; else the number of those before it that got none. */
  next(
    kind: { readonly name: string; readonly most: number; readonly withinMs?: number },
    now: number,
    last: T,
  ): number | null;
  /** The last request of every kind that has some without a line, and their number. */
  left(): readonly { readonly last: T; readonly unwritten: number }[];
}

export const createLineCounts = <T>(): LineCounts<T> => {
  const counts = new Map<string, Count & { readonly last: T }>();
  return {
    next: ({ name, most, withinMs = MINUTE_MS }, now, last) => {
      const { since, lines, unwritten } = counts.get(name) ?? NONE;
      counts.delete(name);
      const isNew = now - since >= withinMs;
      const writes = isNew || lines < most;
      if (isNew) counts.set(name, { since: now, lines: 1, unwritten: 0, last });
      else if (writes) counts.set(name, { since, lines: lines + 1, unwritten: 0, last });
      else counts.set(name, { since, lines, unwritten: unwritten + 1, last });
      for (const [oldest, { unwritten: open }] of counts) {
        if (counts.size <= MOST_KINDS) break;
        if (open === 0) counts.delete(oldest);
      }
      return writes ? unwritten : null;
    },
    left: () => [...counts.values()].flatMap(({ last, unwritten }) => (unwritten === 0 ? [] : [{ last, unwritten }])),
  };
};

// Which requests have a line in the audit trail, and what the line says of their address: the path's template and
// known names of parameters, never a value. Pure.

/** Method and template → action. A logout changes nothing that needs a line. */
const ACTIONS: Readonly<Record<string, Action | null>> = {
  "POST /api/query": "query",
  "POST /api/download": "query",
  "POST /api/syncs": "sync",
  "DELETE /api/syncs/:id": "cancel",
  "POST /api/verifications": "verify",
  "POST /api/feedback": "feedback",
  "POST /api/following": "follow",
  "DELETE /api/following": "unfollow",
  "POST /login": "login",
  "POST /logout": null,
};
/** Actions that have a line when they begin, so that none is done without one. */
export const BEGUN: readonly Action[] = ["query", "sync", "cancel", "verify", "feedback", "follow", "unfollow"];

const V1 = /^(\/profiles\/:profile)?\/v1\/\*$/;
/** Routes whose addresses may name records. */
const READS = [
  "/api/runs/:id/requests",
  "/api/changes",
  "/api/search",
  "/api/tables/:name",
  "/api/accounts",
  "/api/accounts/:id",
];
/** Routes of whole files: a reader asks for many parts of one. */
const FILES: readonly (string | null | undefined)[] = ["/warehouse.duckdb", "/snapshots/{n}/warehouse.duckdb"];
const OWN_PARAMETERS = ["profile", "before", "stream", "offset", "after", "limit", "tables", "q", "in", "since", "at"];

const routeOf = (template: string | null): string | null => template?.replace(/:(\w+)/g, "{$1}") ?? null;

/** The action of a request; null: it has no line. `template`: as registered; null: no such route. */
export const actionOf = (method: string, template: string | null): Action | null => {
  const named = ACTIONS[`${method} ${template}`];
  if (named !== undefined) return named;
  if (template !== null && (V1.test(template) || READS.includes(template) || FILES.includes(routeOf(template))))
    return "read";
  return isSafe(method) ? null : "request";
};

const matched = (method: string, path: string) => {
  try {
    return matchRoute(method === "HEAD" ? "GET" : method, path).route;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
};

interface Place {
  readonly route: string | null;
  readonly parameters: readonly string[];
}

/** Address of a request without values. */
export const placeOf = (method: string, url: string, template: string | null): Place => {
  const [path = "", query = ""] = url.split(/\?(.*)/s);
  const names = [...new Set(new URLSearchParams(query).keys())];
  const shown = (known: readonly string[]) => [...new Set(names.map((name) => (known.includes(name) ? name : "?")))];
  const prefix = V1.exec(template ?? "");
  if (prefix === null) return { route: routeOf(template), parameters: shown(OWN_PARAMETERS) };
  const inProfile = prefix[1] !== undefined;
  const route = matched(method, inProfile ? path.replace(/^\/profiles\/[^/]*/, "") : path);
  return {
    route: `${inProfile ? "/profiles/{profile}" : ""}${route?.path ?? "/v1/?"}`,
    parameters: shown(route?.query.map(({ name }) => name) ?? []),
  };
};

const named = z.object({ profile: z.string() });
const requestBody = z.object({ sql: z.string().optional(), streams: z.array(z.string()).optional() });
const allProfilesBody = z.object({ all_profiles: z.literal(true) });

const templateOf = ({ routeOptions }: FastifyRequest): string | null => routeOptions.url ?? null;

/** Where a request names its profile, as its route reads it. Only these places decide which profile's trail gets the line. */
const placesOf = ({ method, body, params, query, routeOptions }: FastifyRequest): readonly unknown[] => {
  // The service's own routes are answered from the first profile, and ignore parameters that they do not know.
  if (routeOptions.url?.startsWith("/v1")) return [];
  return method === "GET" || method === "HEAD" ? [params, query] : [params, body];
};

/** The mirror that a request names; the first one if it names none. */
const mirrorOf = (request: FastifyRequest, { mirrors }: ServerContext): Mirror | undefined => {
  const places = placesOf(request);
  const name = places.map((place) => named.safeParse(place).data?.profile).find((found) => found !== undefined);
  return mirrors.find((mirror) => mirror.name === name) ?? mirrors[0];
};

/** The mirrors on which a request acts: all, for a sync of all profiles. */
const actedOn = (request: FastifyRequest, context: ServerContext): readonly Mirror[] => {
  const isSync = actionOf(request.method, templateOf(request)) === "sync";
  if (isSync && allProfilesBody.safeParse(request.body).success) return context.mirrors;
  const mirror = mirrorOf(request, context);
  return mirror === undefined ? [] : [mirror];
};

const actorOf = (request: FastifyRequest): Pick<AuditedAction, "actor" | "way" | "address"> => {
  const { access } = notesOf(request);
  if (access === null) return { actor: "unknown", way: "refused", address: request.ip };
  if (access.by === "open") return { actor: "local", way: "open" };
  return { actor: access.holder.name, way: access.by === "bearer" ? "key" : "session" };
};

const auditedActionOf = (request: FastifyRequest): AuditedAction => {
  const { method } = request;
  const template = templateOf(request);
  const action = actionOf(method, template) ?? "request";
  const body = requestBody.safeParse(request.body).data ?? {};
  const streams = (action === "sync" ? body.streams : undefined)?.filter(isStreamName) ?? [];
  return {
    ...actorOf(request),
    ...placeOf(method, request.raw.url ?? "", template),
    action,
    sql: action === "query" ? (body.sql ?? null) : null,
    subject: streams.length === 0 ? null : streams.join(","),
  };
};

const sizeOf = (payload: unknown): number | null => {
  if (typeof payload === "string") return Buffer.byteLength(payload);
  return Buffer.isBuffer(payload) ? payload.length : null;
};

const resultOf = (request: FastifyRequest, reply: FastifyReply, payload: unknown): Result => {
  const { outcome, rows, bytes, runId } = notesOf(request);
  const { statusCode } = reply;
  return {
    outcome: outcome ?? (statusCode < 400 ? "ok" : `HTTP_${statusCode}`),
    rows,
    runId,
    bytes: bytes ?? sizeOf(payload),
  };
};

/** A failed write changes no answer here, because the request is refused anyway. */
const tryNote = (
  context: ServerContext,
  trail: AuditTrail | undefined,
  audited: AuditedAction,
  result: Result,
  startedAt: number,
) => {
  try {
    trail?.note(audited, result, startedAt);
  } catch (error) {
    context.onFault(error);
  }
};

/** Most lines in a minute: of refused requests, of those that a key's role forbids, and of the same read by the same key. */
const MOST_REFUSED = 60;
const MOST_READ = 600;
/** Parts of a file are one read: a reader has a line in this time. */
const SESSION_MS = 3_600_000;

const kindOf = (
  { access, denied }: RequestNotes,
  { actor, route, parameters = [] }: AuditedAction,
  { outcome }: Result,
) => {
  if (access === null) return { name: "refused", most: MOST_REFUSED };
  if (denied) return { name: `denied ${actor}`, most: MOST_REFUSED };
  const name = ["read", actor, route, ...parameters, outcome].join(" ");
  return FILES.includes(route) ? { name, most: 1, withinMs: SESSION_MS } : { name, most: MOST_READ };
};

/** Lines about requests that begin nothing, as many as `kindOf` allows; `close` writes how many had none since the last line. */
const createCountedNotes = (context: ServerContext) => {
  const counts = createLineCounts<{
    readonly audited: AuditedAction;
    readonly result: Result;
    readonly trail: AuditTrail;
  }>();
  return {
    note: (request: FastifyRequest, result: Result, trail: AuditTrail | undefined): void => {
      if (trail === undefined) return;
      const notes = notesOf(request);
      const audited = auditedActionOf(request);
      const unwritten = counts.next(kindOf(notes, audited, result), context.clock.now(), {
        audited,
        result,
        trail,
      });
      if (unwritten === null) return;
      const counted = { ...result, unwritten: unwritten || null };
      // A refused request is refused, whether or not it gets its line.
      if (notes.access === null) tryNote(context, trail, audited, counted, notes.startedAt);
      else trail.note(audited, counted, notes.startedAt);
    },
    close: (): void => {
      for (const { last, unwritten } of counts.left()) {
        tryNote(context, last.trail, last.audited, { ...last.result, unwritten }, context.clock.now());
      }
    },
  };
};

/** Adds the hooks. Add them after the access check. */
export const recordRequests = (app: FastifyInstance, context: ServerContext): void => {
  const begun = new WeakMap<FastifyRequest, Map<string, (result: Result) => void>>();
  const counted = createCountedNotes(context);

  app.addHook("preHandler", async (request) => {
    const action = actionOf(request.method, templateOf(request));
    if (action === null || !BEGUN.includes(action)) return;
    const ends = new Map<string, (result: Result) => void>();
    begun.set(request, ends);
    for (const { name, audit } of actedOn(request, context)) {
      if (audit !== undefined) ends.set(name, audit.begin(auditedActionOf(request)));
    }
  });

  const note = (request: FastifyRequest, result: Result): void => {
    const { access, denied } = notesOf(request);
    const action = actionOf(request.method, templateOf(request));
    const isOpenLogin = action === "login" && access?.by === "open";
    if ((action === null || isOpenLogin) && !denied) return;
    const trail = mirrorOf(request, context)?.audit;
    const ends = begun.get(request);
    const { runIds } = notesOf(request);
    if (ends !== undefined)
      for (const [name, end] of ends) end({ ...result, runId: runIds.get(name) ?? result.runId ?? null });
    else counted.note(request, result, trail);
  };

  app.addHook("onSend", async (request, reply, payload) => {
    try {
      note(request, resultOf(request, reply, payload));
      return payload;
    } catch (error) {
      const { status, body } = errorAnswer(error);
      if (payload instanceof Readable) payload.destroy();
      for (const name of ["content-length", "content-range", "content-encoding", "etag", "location", "set-cookie"])
        reply.removeHeader(name);
      reply.code(status).header("content-type", "application/json; charset=utf-8");
      return JSON.stringify(body);
    }
  });

  app.addHook("onClose", async () => counted.close());
};
