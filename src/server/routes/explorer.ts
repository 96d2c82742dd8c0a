// The explorer: read-only SQL on the snapshot, limited in rows, bytes, time and concurrency; saved queries; feedback
// on a record. A query ends when its page is closed.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { DuckmirrorError } from "../../core/errors.ts";
import { parseFeedback, Refusal } from "../../replica/refusal.ts";
import { savedQueries } from "../../warehouse/read/saved-queries.ts";
import type { QueryCursor } from "../../warehouse/user-sql/query-result.ts";
import { createQueryProcesses } from "../../warehouse/user-sql/user-query.ts";
import { notesOf } from "../audit-trail/request-notes.ts";
import { HttpRefusal, notFound, parseBody } from "../refusals.ts";
import type { ServerContext } from "../server-context.ts";

const MOST_ROWS = 5000;
const MOST_CHARACTERS = 8_000_000;
const LIMITS = { timeMs: 30_000, memoryMiB: 512, rowCharacters: MOST_CHARACTERS };
/** Each query may use every core, so more at once would only slow all of them. */
const MOST_AT_ONCE = 2;

const askSchema = z.strictObject({
  sql: z.string().min(1).max(100_000),
  profile: z.string().optional(),
  limit: z.int().min(1).max(MOST_ROWS).default(1000),
});

/** JSON that a browser reads exactly: numbers beyond its range are sent as text. */
const cellJson = (_name: string, value: unknown): unknown => {
  if (typeof value === "bigint") return String(value);
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
};

const gather = async ({ columns, batches }: QueryCursor, limit: number) => {
  const rows: string[] = [];
  let characters = 0;
  let truncated = false;
  for await (const batch of batches) {
    for (const row of batch) {
      if (rows.length >= limit || characters >= MOST_CHARACTERS) {
        truncated = true;
        break;
      }
      const text = JSON.stringify(row, cellJson);
      characters += text.length;
      rows.push(text);
    }
    if (truncated) break;
  }
  return { columns, rows, truncated };
};

/** Aborts when the page is closed or the server stops. */
const endOf = (request: FastifyRequest, closing: AbortSignal) => {
  const gone = new AbortController();
  const leave = () => gone.abort(new DuckmirrorError("QUERY_LIMIT", { detail: "nobody waits for it any more" }));
  request.raw.socket.once("close", leave);
  return {
    signal: AbortSignal.any([gone.signal, closing]),
    release: () => void request.raw.socket.removeListener("close", leave),
  };
};

export const explorerRoutes = (app: FastifyInstance, context: ServerContext): void => {
  let running = 0;
  const { setting, onCrash } = context.userSql;
  const processes = createQueryProcesses(LIMITS, setting, { spare: true, onCrash });
  app.addHook("onClose", () => processes.close());

  app.get("/api/queries", async () => ({ queries: savedQueries() }));

  app.post("/api/query", async (request, reply) => {
    const { sql, profile, limit } = parseBody(askSchema, request.body);
    const { snapshots } = context.mirror(profile);
    if (running >= MOST_AT_ONCE) {
      reply.header("retry-after", "2");
      throw new HttpRefusal(429, "BUSY", "Other queries are still running.", "Try again when they have ended.");
    }
    running += 1;
    const { signal, release } = endOf(request, context.closing);
    const start = performance.now();
    try {
      const ask = { snapshot: snapshots.path, sql, signal };
      const { columns, rows, truncated } = await processes.stream(ask, (cursor) => gather(cursor, limit));
      notesOf(request).rows = rows.length;
      reply.header("content-type", "application/json; charset=utf-8");
      const head = JSON.stringify({ columns, truncated, ms: Math.round(performance.now() - start) });
      return `${head.slice(0, -1)},"rows":[${rows.join(",")}]}`;
    } finally {
      running -= 1;
      release();
    }
  });

  app.post("/api/feedback", async (request) => {
    const { profile, ...body } = z
      .object({ profile: z.string().optional() })
      .loose()
      .parse(request.body ?? {});
    const { sendFeedback } = context.target(profile);
    if (sendFeedback === undefined) throw notFound("way to send feedback from this server");
    try {
      return await sendFeedback(parseFeedback(body));
    } catch (error) {
      if (error instanceof Refusal) throw new DuckmirrorError("USAGE", { detail: error.message });
      throw error;
    }
  });
};
