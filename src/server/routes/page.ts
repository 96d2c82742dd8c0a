// Serves the page's HTML, styles and modules, and its login by key for access from other machines.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { cookieHeader, sessionsIn } from "../access/access-checks.ts";
import { notesOf } from "../audit-trail/request-notes.ts";
import { readAssets, sendAsset } from "../http/assets.ts";
import { errorAnswer, notFound, tooManyGuesses } from "../http/refusals.ts";
import { isSecure, type ServerContext } from "../http/server-context.ts";

/** Allows only a path of this server, so that a person who just logged in is not sent to another site. */
const safeNext = (next: string | null): string =>
  next !== null && /^\/(?![/\\])[\x21-\x7e]*$/.test(next) ? next : "/";

/** Addresses of the page; its script draws what the address names. */
const ADDRESSES = [
  "/",
  "/tables",
  "/tables/:name",
  "/accounts",
  "/accounts/:id",
  "/runs",
  "/runs/:id",
  "/credits",
  "/explorer",
  "/settings",
  "/reference",
];

/** A browser that follows a wrong address gets the page, which says so; a program gets an error. */
const isPerson = ({ method, headers }: FastifyRequest): boolean =>
  method === "GET" && /\btext\/html\b/.test(headers.accept ?? "");

export const pageRoutes = (app: FastifyInstance, context: ServerContext): void => {
  const { keyring, sessions, guesses, clock, pageFolder } = context;
  const assets = readAssets(pageFolder);

  const html = (name: string) => (request: FastifyRequest, reply: FastifyReply) =>
    sendAsset(request, reply, assets.get(name));
  for (const address of ADDRESSES) app.get(address, html("index.html"));
  app.get("/login", html("login.html"));
  app.get("/favicon.ico", html("favicon.svg"));
  app.get<{ Params: { "*": string } }>("/page/*", (request, reply) =>
    sendAsset(request, reply, assets.get(request.params["*"])),
  );

  app.setNotFoundHandler((request, reply) => {
    const { status, body } = errorAnswer(notFound("such route"));
    reply.code(status);
    return isPerson(request) ? sendAsset(request, reply, assets.get("index.html")) : reply.send(body);
  });

  app.addContentTypeParser("application/x-www-form-urlencoded", { parseAs: "string" }, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  );

  app.post("/login", async (request, reply) => {
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    const next = safeNext(form.get("next"));
    if (!keyring.required()) return reply.redirect(next, 303);
    const now = clock.now();
    const holder = keyring.holderOf(form.get("key")?.trim() ?? "", now);
    if (holder === null) {
      notesOf(request).outcome = "LOGIN_REFUSED";
      if (guesses.isTooMany(request.ip, now)) throw tooManyGuesses(reply);
      return reply.redirect(`/login?wrong&next=${encodeURIComponent(next)}`, 303);
    }
    notesOf(request).access = { by: "session", holder };
    reply.header("set-cookie", cookieHeader(sessions.open(holder, now), isSecure(request, context)));
    return reply.redirect(next, 303);
  });

  app.post("/logout", async (request, reply) => {
    const secure = isSecure(request, context);
    for (const session of sessionsIn({ cookie: request.headers.cookie, secure })) sessions.end(session, clock.now());
    reply.header("set-cookie", cookieHeader(null, secure));
    return reply.redirect("/login", 303);
  });
};
