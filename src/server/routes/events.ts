// GET /api/events: server-sent events. `snapshot` after each publish, `run` for events of running syncs.
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { HttpRefusal } from "../refusals.ts";
import type { ServerContext } from "../server-context.ts";

const POLL_MS = 1000;
/** Shorter than the minute after which proxies close an idle connection. */
const HEARTBEAT_MS = 15_000;
const MOST_LISTENERS = 200;
/** A page with more unread bytes is cut off; it connects again when it reads. */
const MOST_UNREAD_BYTES = 1024 * 1024;

const querySchema = z.object({ profile: z.string().optional() });

const eventText = (name: string, value: unknown): string => `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;

export const eventRoutes = (app: FastifyInstance, context: ServerContext): void => {
  let listeners = 0;

  app.get("/api/events", (request, reply) => {
    const { snapshots, name } = context.mirror(querySchema.parse(request.query).profile);
    if (listeners >= MOST_LISTENERS) {
      throw new HttpRefusal(503, "TOO_MANY_LISTENERS", "Too many pages listen already.", "Close some of them.");
    }
    listeners += 1;
    let version = snapshots.version();
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
    const watch = setInterval(() => {
      const found = snapshots.version();
      if (found === version) return;
      version = found;
      send(eventText("snapshot", { version }));
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
    const close = () => raw.end();
    context.closing.addEventListener("abort", close, { once: true });
    raw.on("error", () => raw.destroy());
    raw.once("close", end);
  });
};
