// Creates the HTTP server (a Fastify instance) that checks every request before its body is read, limits connections, and sends all errors
// in one form. app.ts adds the routes.

import type { Socket } from "node:net";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import {
  type Admission,
  admission,
  allows,
  hasTwoHosts,
  isCostly,
  isForwarded,
  isOwnHost,
  isSafe,
  isSameOrigin,
  roleFor,
  SECURITY_HEADERS,
} from "../access/access-checks.ts";
import {
  CONNECTION_LIMITS,
  countRequests,
  httpOptions,
  limitConnections,
  secureServer,
} from "../access/connection-limits.ts";
import { PROOF_PATH } from "../access/key-store.ts";
import { askerOf, notesOf } from "../audit-trail/request-notes.ts";
import { asking } from "../snapshots/snapshot.ts";
import { type ErrorAnswer, errorAnswer, HttpRefusal, tooManyGuesses } from "./refusals.ts";
import { isSecure, type ServerContext, type ServerOptions } from "./server-context.ts";

// Answers requests that no route sees, because they are no HTTP or have an address that cannot be read.

const HINT = "Check the client, and a proxy between it and this server.";
const BROKEN = new HttpRefusal(400, "BAD_REQUEST", "This is no valid HTTP request.", HINT);
const REFUSALS: Readonly<Record<string, HttpRefusal>> = {
  ERR_HTTP_REQUEST_TIMEOUT: new HttpRefusal(408, "TIMEOUT", "The request was not complete in time.", HINT),
  HPE_HEADER_OVERFLOW: new HttpRefusal(
    431,
    "BAD_REQUEST",
    "The request's headers are too large.",
    "Send fewer headers.",
  ),
};
const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

/** For Node's `clientError`: answers if it can, and closes the connection. */
const answerBroken = (error: Error & { readonly code?: string }, socket: Socket): void => {
  if (error.code === "ECONNRESET" || socket.destroyed) return;
  const { status, body } = errorAnswer(REFUSALS[error.code ?? ""] ?? BROKEN);
  const text = JSON.stringify(body);
  const head = `HTTP/1.1 ${status} ${REASONS[status]}\r\nContent-Length: ${Buffer.byteLength(text)}`;
  if (socket.writable) socket.write(`${head}\r\nContent-Type: application/json\r\n\r\n${text}`);
  socket.destroy(error);
};

/** For an error of the framework before any route: an address that cannot be read. */
const unreadableAddress = (): ErrorAnswer =>
  errorAnswer(
    new HttpRefusal(400, "BAD_REQUEST", "The address cannot be read.", "Encode it as RFC 3986 says: % as %25."),
  );

/** Paths that need no key, because they show no data. */
const OPEN_PATHS = ["/healthz", "/readyz", PROOF_PATH, "/login", "/favicon.ico"];
const OPEN_FOLDER = "/page/";
const LARGEST_BODY_BYTES = 256 * 1024;

const pathOf = (url: string): string => url.split("?", 1)[0] ?? url;
const one = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);

const refuseStranger = (request: FastifyRequest, reply: FastifyReply) => {
  const path = pathOf(request.url);
  notesOf(request).outcome = "UNAUTHORIZED";
  // A person is sent to the login; a program gets an error.
  if (request.method === "GET" && /\btext\/html\b/.test(request.headers.accept ?? "")) {
    return reply.redirect(path === "/" ? "/login" : `/login?next=${encodeURIComponent(path)}`, 303);
  }
  reply.header("www-authenticate", "Bearer");
  throw new HttpRefusal(401, "UNAUTHORIZED", "The key is missing or wrong.", "Send it as `Authorization: Bearer KEY`.");
};

const isOpenPath = (path: string): boolean => OPEN_PATHS.includes(path) || path.startsWith(OPEN_FOLDER);

/** Without a key, only this machine may send requests, by its own name and not through a proxy. */
const checkNear = (request: FastifyRequest, listenHost: string): void => {
  if (!isOwnHost(request.headers.host, listenHost)) {
    throw new HttpRefusal(421, "WRONG_HOST", "This server does not answer to that name.", "Use 127.0.0.1.");
  }
  if (isForwarded(request.headers) && !isOpenPath(pathOf(request.url))) {
    const hint = "Make one with `duckmirror key add`, or set `server_key_file`.";
    throw new HttpRefusal(401, "KEY_NEEDED", "A request through a proxy needs a key, and this server has none.", hint);
  }
};

const checkOrigin = (request: FastifyRequest, admitted: Admission): void => {
  const { host, origin } = request.headers;
  const needed = !isSafe(request.method) || isCostly(pathOf(request.url));
  const site = one(request.headers["sec-fetch-site"]);
  if (!needed || admitted.by === "bearer" || isSameOrigin({ host, origin, site })) return;
  throw new HttpRefusal(403, "CROSS_SITE", "Another site asked for this.", "Use the server's own page.");
};

/** Checks each request before its body is read. */
const guard = (context: ServerContext) => async (request: FastifyRequest, reply: FastifyReply) => {
  const { keyring, sessions, guesses, clock, listenHost } = context;
  // Routes whose answers may be kept say so.
  reply.headers({ ...SECURITY_HEADERS, "cache-control": "no-store" });
  const { authorization, cookie } = request.headers;
  const now = clock.now();
  const path = pathOf(request.url);
  const admitted = admission({ authorization, cookie, secure: isSecure(request, context) }, keyring, sessions, now);
  const notes = notesOf(request);
  notes.startedAt = now;
  notes.denied = true;
  if (hasTwoHosts(request.raw.rawHeaders)) {
    throw new HttpRefusal(400, "BAD_REQUEST", "The request names two hosts.", "Send one Host header.");
  }
  if (admitted.by === "open") checkNear(request, listenHost);
  checkOrigin(request, admitted);
  if (admitted.by !== "nothing") notes.access = admitted;
  // Where no key is needed, a wrong one is not refused.
  notes.denied = admitted.by === "nothing" && admitted.guessed && !isOpenPath(path);
  if (admitted.by === "open" || isOpenPath(path)) return undefined;
  if (admitted.by === "nothing") {
    if (admitted.guessed && guesses.isTooMany(request.ip, now)) throw tooManyGuesses(reply);
    return refuseStranger(request, reply);
  }
  const { name, role } = admitted.holder;
  const needed = roleFor(request.method, path);
  if (allows(role, needed)) return undefined;
  notes.denied = true;
  throw new HttpRefusal(
    403,
    "ROLE_TOO_LOW",
    `The key ${name} has the role ${role}; this needs ${needed}.`,
    `Make a key for it: \`duckmirror key add NAME --role ${needed}\`.`,
  );
};

const answerUnreadable = (_error: unknown, _request: FastifyRequest, reply: FastifyReply): void => {
  const { status, body } = unreadableAddress();
  void reply.headers(SECURITY_HEADERS).code(status).send(body);
};

/** Without routes; what they throw becomes an error response. */
export const guardedApp = (options: Pick<ServerOptions, "limits" | "tls">, context: ServerContext): FastifyInstance => {
  const limits = { ...CONNECTION_LIMITS, ...options.limits };
  const app = Fastify({
    logger: false,
    forceCloseConnections: true,
    clientErrorHandler: answerBroken,
    frameworkErrors: answerUnreadable,
    bodyLimit: LARGEST_BODY_BYTES,
    routerOptions: { maxParamLength: 4096 },
    ...(options.tls ? { serverFactory: secureServer(limits, options.tls) } : httpOptions(limits)),
  });
  limitConnections(app.server, limits);
  const hasRoom = countRequests(limits);
  app.addHook("onRequest", async (request, reply) => {
    if (hasRoom(request.raw.socket, reply.raw)) return;
    const notes = notesOf(request);
    notes.startedAt = context.clock.now();
    notes.denied = true;
    reply.header("connection", "close");
    const hint = "Wait for responses before you send more.";
    throw new HttpRefusal(429, "BUSY", "Too many requests on this connection wait for a response.", hint);
  });
  app.addHook("onRequest", guard(context));
  app.addHook("onRequest", (request, _reply, done) => asking.run(askerOf(request), done));
  app.setErrorHandler((error, request, reply) => {
    const { status, body } = errorAnswer(error);
    notesOf(request).outcome = body.error.code;
    if (status === 500) context.onFault(error);
    return reply.code(status).send(body);
  });
  return app;
};
