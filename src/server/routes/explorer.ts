// Routes of the page's explorer: read-only SQL on the snapshot, limited in rows, bytes, time and concurrency; whole results as files; saved
// queries; feedback on a record. A query ends when its page is closed.
import { lstat, mkdtemp, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { DuckmirrorError } from "../../core/errors.ts";
import { listGiven } from "../../core/files/given-files.ts";
import { diskError, openOwn } from "../../core/files/own-files.ts";
import { parseFeedback, Refusal } from "../../replica/refusal.ts";
import { savedQueries } from "../../warehouse/read/saved-queries.ts";
import type { QueryCursor } from "../../warehouse/user-sql/query-output.ts";
import { writeResultFile } from "../../warehouse/user-sql/result-file.ts";
import { createQueryProcesses, type QueryLimits } from "../../warehouse/user-sql/user-query.ts";
import { askerOf, notesOf } from "../audit-trail/request-notes.ts";
import { HttpRefusal, notFound, parseBody } from "../http/refusals.ts";
import type { ServerContext } from "../http/server-context.ts";

const MOST_ROWS = 5000;
const MOST_CHARACTERS = 8_000_000;
const LIMITS: QueryLimits = { timeMs: 30_000, memoryMiB: 512, rowCharacters: MOST_CHARACTERS };
/** A whole table of millions of rows takes minutes. */
const DOWNLOAD_LIMITS: QueryLimits = { ...LIMITS, timeMs: 600_000 };
/** Text of a download, before Parquet makes it smaller: readers must not fill the disk. */
const MOST_DOWNLOAD_BYTES = 4 * 2 ** 30;
/** Each query may use every core, so more at once would only slow all of them. Downloads do not keep queries waiting. */
const MOST_AT_ONCE = 2;
/** Written files that their readers have not received yet: each keeps its place on the disk. */
const MOST_UNSENT = 4;

const askSchema = z.strictObject({
  sql: z.string().min(1).max(100_000),
  profile: z.string().optional(),
  limit: z.int().min(1).max(MOST_ROWS).default(1000),
});

const TYPES = {
  csv: "text/csv; charset=utf-8",
  json: "application/json; charset=utf-8",
  ndjson: "application/x-ndjson",
  parquet: "application/vnd.apache.parquet",
} as const;

const downloadSchema = z.strictObject({
  sql: askSchema.shape.sql,
  profile: z.string().optional(),
  format: z.enum(["csv", "json", "ndjson", "parquet"]),
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

const busy = (reply: FastifyReply, message: string): HttpRefusal => {
  reply.header("retry-after", "2");
  return new HttpRefusal(429, "BUSY", message, "Try again when they have ended.");
};

/** Lets a few statements run at once, each until its reader leaves or the server stops. One place is kept for askers that have none. */
const createPlaces = (closing: AbortSignal) => {
  const running: string[] = [];
  return async <T>(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const asker = askerOf(request);
    const places = running.includes(asker) ? MOST_AT_ONCE : MOST_AT_ONCE + 1;
    if (running.length >= places) throw busy(reply, "Other queries are still running.");
    running.push(asker);
    const { signal, release } = endOf(request, closing);
    try {
      return await work(signal);
    } finally {
      running.splice(running.indexOf(asker), 1);
      release();
    }
  };
};

const DOWNLOADS = "duckmirror-download-";
/** No download takes as long. */
const LEFT_MS = 3_600_000;

/** Removes what killed servers of this user left. It may hold people whom `forget` erased since. */
const removeLeft = async (now: number): Promise<void> => {
  const names = listGiven(tmpdir()).filter((name) => name.startsWith(DOWNLOADS));
  const { uid } = userInfo();
  for (const name of names) {
    const folder = join(tmpdir(), name);
    const found = await lstat(folder).catch(() => null);
    if (!found?.isDirectory() || found.mtimeMs > now - LEFT_MS || (uid >= 0 && found.uid !== uid)) continue;
    await rm(folder, { recursive: true, force: true });
  }
};

/** Does the work while nothing moves on the connection, which would be closed as idle. */
const withoutIdleLimit = async <T>({ raw }: FastifyRequest, work: () => Promise<T>): Promise<T> => {
  const { socket } = raw;
  if (!(socket instanceof Socket)) return work();
  const idleMs = socket.timeout ?? 0;
  socket.setTimeout(0);
  return work().finally(() => socket.setTimeout(idleMs));
};

/** `POST /api/download`: a whole result as a file. It is written before it is sent, so it comes whole or not at all. */
const downloadRoute = (app: FastifyInstance, context: ServerContext): void => {
  const { setting, onCrash } = context.userSql;
  const processes = createQueryProcesses(DOWNLOAD_LIMITS, setting, { onCrash });
  const inPlace = createPlaces(context.closing);
  const { clock } = context;
  let unsent = 0;
  app.addHook("onReady", () => removeLeft(clock.now()).catch(() => undefined));
  app.post("/api/download", async (request, reply) => {
    const { sql, profile, format } = parseBody(downloadSchema, request.body);
    const { snapshots } = context.mirror(profile);
    if (unsent >= MOST_UNSENT) throw busy(reply, "Other downloads are still being sent.");
    const write = async (signal: AbortSignal) => {
      const folder = await mkdtemp(join(tmpdir(), DOWNLOADS));
      try {
        const { path, rows, bytes } = await processes.stream({ snapshot: snapshots.path, sql, signal }, (cursor) =>
          writeResultFile(cursor, { format, folder, mostBytes: MOST_DOWNLOAD_BYTES }),
        );
        Object.assign(notesOf(request), { rows, bytes });
        reply.headers({
          "content-type": TYPES[format],
          "content-length": bytes,
          "content-disposition": `attachment; filename="result.${format}"`,
          "x-duckmirror-rows": String(rows),
        });
        // The open file outlives its name.
        return (await openOwn(path)).createReadStream();
      } catch (error) {
        throw diskError(error);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    };
    const file = await withoutIdleLimit(request, () => inPlace(request, reply, write));
    unsent += 1;
    file.once("close", () => {
      unsent -= 1;
    });
    reply.raw.once("close", () => file.destroy());
    return file;
  });
};

export const explorerRoutes = (app: FastifyInstance, context: ServerContext): void => {
  const { setting, onCrash } = context.userSql;
  const processes = createQueryProcesses(LIMITS, setting, { spare: true, onCrash });
  const inPlace = createPlaces(context.closing);
  app.addHook("onClose", () => processes.close());
  downloadRoute(app, context);

  app.get("/api/queries", async () => ({ queries: savedQueries() }));

  app.post("/api/query", async (request, reply) => {
    const { sql, profile, limit } = parseBody(askSchema, request.body);
    const { snapshots } = context.mirror(profile);
    const start = performance.now();
    return inPlace(request, reply, async (signal) => {
      const ask = { snapshot: snapshots.path, sql, signal };
      const { columns, rows, truncated } = await processes.stream(ask, (cursor) => gather(cursor, limit));
      notesOf(request).rows = rows.length;
      reply.header("content-type", "application/json; charset=utf-8");
      const head = JSON.stringify({ columns, truncated, ms: Math.round(performance.now() - start) });
      return `${head.slice(0, -1)},"rows":[${rows.join(",")}]}`;
    });
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
