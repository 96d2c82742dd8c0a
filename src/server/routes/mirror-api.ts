// Serves the API's own `/v1` routes from the mirror, without credits or rate limit, so that a client of the service can use this base
// address. Differences: `meta.timestamp` is the time of the data, and headers contain its age.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { openApiDocument } from "../../replica/openapi/document.ts";
import { matchRoute } from "../../replica/query/route-match.ts";
import { Refusal, type RefusalCode, refusalHeaders } from "../../replica/refusal.ts";
import { notesOf } from "../audit-trail/request-notes.ts";
import { notFound } from "../http/refusals.ts";
import type { Mirror, ServerContext } from "../http/server-context.ts";
import { createMirrorAnswer, JSON_TYPE, MOST_PER_PAGE, pathAndQuery } from "./mirror-answer.ts";

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
  const answer = createMirrorAnswer(context);

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
