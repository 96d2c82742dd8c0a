// GET /api/events: server-sent events. `snapshot` after each publish, `run` for events of running syncs. A stream ends when
// its reader's key is revoked or has ended, or when a first key is created and the reader has none.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { admission, allows } from "../access/access-checks.ts";
import { HttpRefusal } from "../http/refusals.ts";
import { isSecure, type ServerContext } from "../http/server-context.ts";

const POLL_MS = 1000;
/** Shorter than the minute after which proxies close an idle connection. */
const HEARTBEAT_MS = 15_000;
const MOST_LISTENERS = 200;
/** A page with more unread bytes is cut off; it connects again when it reads. */
const MOST_UNREAD_BYTES = 1024 * 1024;

const eventText = (name: string, value: unknown): string => `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;

/** Whether the request would still be let in. */
const isAdmitted = (request: FastifyRequest, context: ServerContext): boolean => {
  const { authorization, cookie } = request.headers;
  const { keyring, sessions, clock } = context;
  const now = admission({ authorization, cookie, secure: isSecure(request, context) }, keyring, sessions, clock.now());
  return now.by === "open" || (now.by !== "nothing" && allows(now.holder.role, "read"));
};

export const eventRoutes = (app: FastifyInstance, context: ServerContext): void => {
  let listeners = 0;

  app.get("/api/events", (request, reply) => {
    const { snapshots, name } = context.mirrorOf(request);
    // A HEAD request asks for no stream, and would wait for its end.
    if (request.method === "HEAD") return void reply.type("text/event-stream").send();
    if (listeners >= MOST_LISTENERS) {
      throw new HttpRefusal(503, "TOO_MANY_LISTENERS", "Too many pages listen already.", "Close some of them.");
    }
    let version = snapshots.version();
    listeners += 1;
    const headers = { ...reply.getHeaders(), "content-type": "text/event-stream", "cache-control": "no-store" };
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, String(value)])));
    const send = (text: string): void => {
      if (raw.destroyed) return;
      if (raw.writableLength > MOST_UNREAD_BYTES) raw.destroy();
      else raw.write(text);
    };
    send(`retry: 2000\n${eventText("snapshot", { version })}`);
    const poll = (): void => {
      const found = snapshots.version();
      if (!isAdmitted(request, context)) close();
      else if (found !== version) {
        version = found;
        send(eventText("snapshot", { version }));
      }
    };
    const watch = setInterval(() => {
      try {
        poll();
      } catch (error) {
        // Nobody else would catch what the file system says: the process would end. The page asks again.
        context.onFault(error);
        close();
      }
    }, POLL_MS);
    const beat = setInterval(() => send(": still here\n\n"), HEARTBEAT_MS);
    const stopListening = context.triggers?.listen?.((event, { runId, profile }) => {
      if (profile === name) send(eventText("run", { run_id: runId, ...event }));
    });
    const end = () => {
      clearInterval(watch);
      clearInterval(beat);
      stopListening?.();
      context.closing.removeEventListener("abort", close);
      listeners -= 1;
    };
    const close = () => void raw.end();
    context.closing.addEventListener("abort", close, { once: true });
    raw.on("error", () => raw.destroy());
    raw.once("close", end);
  });
};
