// GET /api/search: records of the snapshot by words, the best match first; GET /api/changes: its change feed, in pages.
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { jsonText } from "../../core/json.ts";
import { momentBefore } from "../../core/time.ts";
import { changeTables } from "../../warehouse/read/changes/change.ts";
import { readChanges } from "../../warehouse/read/changes/read-changes.ts";
import { MOST_FOUND, search } from "../../warehouse/read/search/search.ts";
import { notesOf } from "../audit-trail/request-notes.ts";
import type { ServerContext } from "../http/server-context.ts";

const MOST_CHANGES = 1000;

const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, "a whole number is needed")
  .transform(Number);
/** Names separated by commas. */
export const namesSchema = z
  .string()
  .default("")
  .transform((names) => names.split(",").filter((name) => name !== ""));

const changesQuery = z.object({
  after: wholeNumber.optional(),
  limit: wholeNumber.pipe(z.int().min(1).max(MOST_CHANGES)).default(100),
  tables: namesSchema,
});

export const changeRoutes = (app: FastifyInstance, context: ServerContext): void => {
  app.get("/api/changes", async (request, reply) => {
    const { after = null, limit, tables } = changesQuery.parse(request.query);
    const page = await context.read(request, (snapshot) =>
      readChanges(snapshot, { after, limit, tables: changeTables(tables) }),
    );
    notesOf(request).rows = page.changes.length;
    reply.headers({ "content-type": "application/json; charset=utf-8", "cache-control": "private, no-cache" });
    return jsonText({ data: page.changes.map((change) => ({ ...change })), next: page.next }).text;
  });
};

const searchQuery = z.object({
  q: z.string().max(1_000),
  in: namesSchema,
  since: z.string().optional(),
  limit: z
    .string()
    .regex(/^\d{1,4}$/, "a whole number is needed")
    .transform(Number)
    .pipe(z.int().min(1).max(MOST_FOUND))
    .default(20),
});

export const searchRoutes = (app: FastifyInstance, context: ServerContext): void => {
  app.get("/api/search", async (request, reply) => {
    const { q: words, in: tables, since, limit } = searchQuery.parse(request.query);
    const from = since === undefined ? {} : { since: momentBefore("since", since, context.clock.now()) };
    const found = await context.read(request, (snapshot) => search(snapshot, { words, tables, limit, ...from }));
    notesOf(request).rows = found.length;
    reply.headers({ "content-type": "application/json; charset=utf-8", "cache-control": "private, no-cache" });
    return jsonText(found.map((one) => ({ ...one }))).text;
  });
};
