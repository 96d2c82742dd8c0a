// The API's own `/v1` routes, served from the mirror: no credit, no rate limit. A client of the service can use this
// base address. Differences: `meta.timestamp` is the time of the data, and headers contain its age.
import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Answer, writeEnvelope } from "../../replica/envelope.ts";
import { openApiDocument } from "../../replica/openapi/document.ts";
import { matchRoute } from "../../replica/query/route-match.ts";
import { Refusal, type RefusalCode, refusalHeaders } from "../../replica/refusal.ts";
import { createReplica } from "../../replica/replica.ts";
import { mirroredQuota } from "../../replica/usage.ts";
import { dataTime } from "../figures/data-time.ts";
import { notFound } from "../refusals.ts";
import type { Mirror, ServerContext } from "../server-context.ts";
import { perSnapshot, type Snapshot } from "../snapshot.ts";
import { notesOf } from "../trail/request-notes.ts";

const JSON_TYPE = "application/json; charset=utf-8";
/** Most rows per page; higher than the service's, because pages cost nothing here. */
const MOST_PER_PAGE = 1000;

const pathAndQuery = (url: string, prefix: string) => {
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = Object.fromEntries(new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1)));
  return { path: path.slice(prefix.length), query };
};

/** Records in an answer, embedded ones aside. */
const rowsOf = ({ data, paging }: Answer): number => {
  if (paging === undefined) return data === undefined ? 0 : 1;
  return Math.max(0, Math.min(paging.perPage, paging.totalCount - (paging.page - 1) * paging.perPage));
};

/** Address of the routes as the client sees it. */
const addressOf = (request: FastifyRequest, prefix: string): string =>
  `${request.protocol}://${request.headers.host ?? "localhost"}${prefix}`;

const ROUTES = "/openapi.json describes every route and its parameters.";
const HINTS: Readonly<Record<RefusalCode, string>> = {
  bad_request: ROUTES,
  unauthorized: "Send a key of this server as `Authorization: Bearer KEY`.",
  credits_exhausted: "The mirror itself costs no credits.",
  not_found: `The mirror holds what the last sync found. ${ROUTES}`,
  method_not_allowed: `The mirror is only read. ${ROUTES}`,
  rate_limited: "Try again in a minute.",
  internal: "The server's log says what.",
};

export const mirrorApiRoutes = (app: FastifyInstance, context: ServerContext): void => {
  const { clock } = context;
  const replicaOf = perSnapshot(async (snapshot: Snapshot) =>
    createReplica({ database: snapshot, clock, tier: () => "full", maxPerPage: MOST_PER_PAGE }),
  );

  const answer = async (mirror: Mirror, request: FastifyRequest, prefix: string, reply: FastifyReply) => {
    const { path, query } = pathAndQuery(request.raw.url ?? "/", prefix);
    const match = matchRoute(request.method, path);
    return mirror.snapshots.use(async (snapshot) => {
      const replica = await replicaOf(snapshot);
      const found = await replica.answer({ match, query });
      notesOf(request).rows = rowsOf(found);
      const now = clock.now();
      const time = await dataTime(snapshot, match);
      const ageSeconds = String(Math.max(0, Math.round((now - time) / 1000)));
      reply.headers({
        "content-type": JSON_TYPE,
        "cache-control": "private, no-cache",
        age: ageSeconds,
        "x-duckmirror-data-age": ageSeconds,
        "x-duckmirror-data-time": new Date(time).toISOString(),
      });
      return writeEnvelope(found, {
        requestId: `mirror_${randomUUID()}`,
        now: time,
        usage: found.usageBlock ? await mirroredQuota(snapshot, now) : null,
        includedShape: "plural-array",
      });
    });
  };

  /** Body of a refusal, whose status and headers are set. Throws every other error. */
  const refused = (error: unknown, request: FastifyRequest, reply: FastifyReply): string => {
    if (!(error instanceof Refusal)) throw error;
    notesOf(request).outcome = error.code.toUpperCase();
    reply.code(error.status).headers({ "content-type": JSON_TYPE, ...refusalHeaders(error) });
    const { code, message } = error;
    return JSON.stringify({ error: { code, message, hint: HINTS[code] } });
  };

  const serve = (prefixOf: (request: FastifyRequest) => string, mirrorOf: (request: FastifyRequest) => Mirror) => {
    const respond = async (request: FastifyRequest, reply: FastifyReply) => {
      try {
        return await answer(mirrorOf(request), request, prefixOf(request), reply);
      } catch (error) {
        return refused(error, request, reply);
      }
    };
    // Before the body is read: of some methods that no route has, Fastify asks for a Content-Type.
    const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
      try {
        matchRoute(request.method, pathAndQuery(request.raw.url ?? "/", prefixOf(request)).path);
      } catch (error) {
        return reply.send(refused(error, request, reply));
      }
      return undefined;
    };
    return { handler: respond, onRequest };
  };

  const first = serve(
    () => "",
    () => context.mirror(undefined),
  );
  const profileOf = (request: FastifyRequest): string => {
    const [, , name = ""] = (request.raw.url ?? "").split("/");
    if (name === "") throw notFound("profile without a name");
    return decodeURIComponent(name);
  };
  const prefixOf = (request: FastifyRequest) => `/profiles/${(request.raw.url ?? "").split("/")[2] ?? ""}`;
  const named = serve(prefixOf, (request) => context.mirror(profileOf(request)));

  app.all("/v1/*", { onRequest: first.onRequest }, first.handler);
  app.all("/profiles/:profile/v1/*", { onRequest: named.onRequest }, named.handler);
  app.get("/openapi.json", async (request) => openApiDocument(addressOf(request, ""), { maxPerPage: MOST_PER_PAGE }));
  app.get("/profiles/:profile/openapi.json", async (request) => {
    context.mirror(profileOf(request));
    return openApiDocument(addressOf(request, prefixOf(request)), { maxPerPage: MOST_PER_PAGE });
  });
};
