// The page itself: HTML, styles, modules; and the login by key for anything but this machine.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { cookieHeader, sameText, sessionValue } from "../access.ts";
import { readAssets, sendAsset } from "../assets.ts";
import { HttpRefusal } from "../refusals.ts";
import type { ServerContext } from "../server-context.ts";

/** Wrong keys in a minute, from everybody together, before the login waits. A key of 16 characters is not guessed so. */
const MOST_WRONG = 20;
const MINUTE_MS = 60_000;

/** Only a path of this server: anything else would send a person who just logged in to somebody else's page. */
const safeNext = (next: string | null): string =>
  next !== null && /^\/(?![/\\])[\x21-\x7e]*$/.test(next) ? next : "/";

export const pageRoutes = (app: FastifyInstance, { key, clock, pageFolder }: ServerContext): void => {
  const assets = readAssets(pageFolder);
  const wrongAt: number[] = [];

  const html = (name: string) => (request: FastifyRequest, reply: FastifyReply) =>
    sendAsset(request, reply, assets.get(name));
  app.get("/", html("index.html"));
  app.get("/login", html("login.html"));
  app.get("/reference", html("reference.html"));
  app.get("/favicon.ico", html("favicon.svg"));
  app.get<{ Params: { "*": string } }>("/page/*", (request, reply) =>
    sendAsset(request, reply, assets.get(request.params["*"])),
  );

  app.addContentTypeParser("application/x-www-form-urlencoded", { parseAs: "string" }, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  );

  app.post("/login", async (request, reply) => {
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    const next = safeNext(form.get("next"));
    if (key === null) return reply.redirect(next, 303);
    const now = clock.now();
    while ((wrongAt[0] ?? now) < now - MINUTE_MS) wrongAt.shift();
    if (wrongAt.length >= MOST_WRONG) {
      reply.header("retry-after", "60");
      throw new HttpRefusal(429, "TOO_MANY_LOGINS", "Too many wrong keys.", "Wait a minute.");
    }
    if (!sameText(form.get("key")?.trim() ?? "", key.reveal())) {
      wrongAt.push(now);
      return reply.redirect(`/login?wrong&next=${encodeURIComponent(next)}`, 303);
    }
    reply.header("set-cookie", cookieHeader(sessionValue(key, now), request.headers["x-forwarded-proto"] === "https"));
    return reply.redirect(next, 303);
  });

  app.post("/logout", async (_request, reply) => {
    reply.header("set-cookie", cookieHeader(null, false));
    return reply.redirect("/login", 303);
  });
};
