// GET /api/search: records of the snapshot by words, the best match first; GET /api/changes: its change feed, in pages.
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { momentBefore } from "../../core/time.ts";
import { changeTables } from "../../warehouse/read/changes/change.ts";
import { readChanges } from "../../warehouse/read/changes/read-changes.ts";
import { MOST_FOUND, search } from "../../warehouse/read/search/search.ts";
import { jsonText } from "../../warehouse/record/json-text.ts";
import { notesOf } from "../audit-trail/request-notes.ts";
import type { ServerContext } from "../http/server-context.ts";

const MOST_CHANGES = 1000;

const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, "a whole number is needed")
  .transform(Number);
const changesQuery = z.object({
  profile: z.string().optional(),
  after: wholeNumber.optional(),
  limit: wholeNumber.pipe(z.int().min(1).max(MOST_CHANGES)).default(100),
  tables: z.string().default(""),
});

export const changeRoutes = (app: FastifyInstance, context: ServerContext): void => {
  app.get("/api/changes", async (request, reply) => {
    const { profile, after = null, limit, tables } = changesQuery.parse(request.query);
    const names = tables.split(",").filter((name) => name !== "");
    const page = await context
      .mirror(profile)
      .snapshots.use((snapshot) => readChanges(snapshot, { after, limit, tables: changeTables(names) }));
    notesOf(request).rows = page.changes.length;
    reply.headers({ "content-type": "application/json; charset=utf-8", "cache-control": "private, no-cache" });
    return jsonText({ data: page.changes.map((change) => ({ ...change })), next: page.next }).text;
  });
};

const querySchema = z.object({
  profile: z.string().optional(),
  q: z.string().max(1_000),
  in: z.string().default(""),
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
    const { profile, q: words, in: tables, since, limit } = querySchema.parse(request.query);
    const names = tables.split(",").filter((name) => name !== "");
    const from = since === undefined ? {} : { since: momentBefore("since", since, context.clock.now()) };
    const found = await context
      .mirror(profile)
      .snapshots.use((snapshot) => search(snapshot, { words, tables: names, limit, ...from }));
    notesOf(request).rows = found.length;
    reply.headers({ "content-type": "application/json; charset=utf-8", "cache-control": "private, no-cache" });
    return jsonText(found.map((one) => ({ ...one }))).text;
  });
};
