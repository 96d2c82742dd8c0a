// GET /api/search: records of the snapshot by words, the best match first.
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { momentBefore } from "../../core/text/moment.ts";
import { MOST_FOUND, search } from "../../warehouse/read/search/search.ts";
import { jsonText } from "../../warehouse/record/json-text.ts";
import { notesOf } from "../audit-trail/request-notes.ts";
import type { ServerContext } from "../server-context.ts";

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
