// The API's own `/v1` routes, served from the mirror: no credit, no rate limit. A client of the service can use this
// base address. Differences: `meta.timestamp` is the time of the data, and headers contain its age.
import { createHash, randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Coding, codingFor, compressed } from "../../replica/compress.ts";
import { type Answer, writeEnvelope } from "../../replica/envelope.ts";
import { openApiDocument } from "../../replica/openapi/document.ts";
import { matchRoute } from "../../replica/query/route-match.ts";
import { Refusal, type RefusalCode, refusalHeaders } from "../../replica/refusal.ts";
import { createReplica, type ReplicaRequest } from "../../replica/replica.ts";
import { lastQuota, quotaOf } from "../../replica/usage.ts";
import { createAnswerCache, type KeptAnswer } from "../answer-cache.ts";
import { dataTime } from "../figures/data-time.ts";
import { notFound } from "../refusals.ts";
import type { Mirror, ServerContext } from "../server-context.ts";
import { perSnapshot, type Snapshot } from "../snapshot.ts";
import { notesOf } from "../trail/request-notes.ts";

const JSON_TYPE = "application/json; charset=utf-8";
/** Most rows per page; higher than the service's, because pages cost nothing here. */
const MOST_PER_PAGE = 1000;
/** Most bytes of answers that are kept, of all profiles together. */
const MOST_KEPT_BYTES = 32 * 1024 * 1024;

/** The latest reading: that of the last look, else the snapshot's. */
const readQuota = perSnapshot(async (snapshot: Snapshot) => {
  const looked = snapshot.looks.at(-1)?.credits ?? null;
  return looked === null ? lastQuota(snapshot) : { ...looked, limit: looked.credit_limit };
});

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

/**
 * Name of an answer: the same for the same request of the same snapshot. Parameters that the route does not know
 * change no answer.
 */
const identityOf = (of: readonly (string | number)[], { match, query }: ReplicaRequest): string => {
  const known = match.route.query.map((param) => query[param.name] || String(param.default ?? ""));
  const text = JSON.stringify([of, match.route.name, Object.entries(match.path), known]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 27);
};

/** Whether the client has this answer already (RFC 9110, section 13.1.2). */
const isKnown = (header: string | undefined, etag: string): boolean =>
  header?.split(",").some((tag) => tag.trim() === etag) ?? false;

const sendBytes = (
  reply: FastifyReply,
  { bytes, coding }: { readonly bytes: Buffer; readonly coding?: Coding | undefined },
) => {
  if (coding !== undefined) reply.header("content-encoding", coding);
  return reply.header("content-type", JSON_TYPE).send(bytes);
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

  const cache = createAnswerCache(MOST_KEPT_BYTES);

  const answer = async (mirror: Mirror, request: FastifyRequest, prefix: string, reply: FastifyReply) => {
    const { path, query } = pathAndQuery(request.raw.url ?? "/", prefix);
    const match = matchRoute(request.method, path);
    return mirror.snapshots.use(async (snapshot) => {
      const now = clock.now();
      const time = await dataTime(snapshot, match);
      const usage = quotaOf(await readQuota(snapshot), now);
      const asked = { match, query };
      const identity = identityOf([context.version, mirror.name, snapshot.version, usage.resetsAt], asked);
      const write = async (requestId: string): Promise<KeptAnswer> => {
        const replica = await replicaOf(snapshot);
        const found = await replica.answer(asked);
        const text = writeEnvelope(found, { requestId, now: time, usage, includedShape: "plural-array" });
        return { bytes: Buffer.from(text), rows: rowsOf(found) };
      };
      const ageSeconds = String(Math.max(0, Math.round((now - time) / 1000)));
      const headers = {
        "cache-control": "private, no-cache",
        vary: "accept-encoding",
        age: ageSeconds,
        "x-duckmirror-data-age": ageSeconds,
        "x-duckmirror-data-time": new Date(time).toISOString(),
      };
      // What the usage routes answer depends on the time of the request.
      if (match.route.tier === "any") {
        const { bytes, rows } = await write(`mirror_${randomUUID()}`);
        notesOf(request).rows = rows;
        return sendBytes(reply.headers(headers), { bytes });
      }
      const etag = `W/"${identity}"`;
      if (isKnown(request.headers["if-none-match"], etag)) {
        notesOf(request).rows = 0;
        return reply.headers(headers).header("etag", etag).code(304).send();
      }
      const plain = await cache.get(identity, () => write(`mirror_${identity}`));
      notesOf(request).rows = plain.rows;
      const coding = codingFor(request.headers["accept-encoding"], plain.bytes.length);
      const { bytes } =
        coding === undefined
          ? plain
          : await cache.get(`${identity} ${coding}`, async () => ({
              bytes: await compressed(plain.bytes, coding),
              rows: plain.rows,
            }));
      return sendBytes(reply.headers(headers).header("etag", etag), { bytes, coding });
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
