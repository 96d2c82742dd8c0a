// GET /api/changes: the change feed of the snapshot, in pages. `next` is the cursor of the following page.
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { changeTables } from "../../warehouse/read/changes/change.ts";
import { readChanges } from "../../warehouse/read/changes/read-changes.ts";
import { jsonText } from "../../warehouse/record/json-text.ts";
import { notesOf } from "../audit-trail/request-notes.ts";
import type { ServerContext } from "../server-context.ts";

const MOST_CHANGES = 1000;

const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, "a whole number is needed")
  .transform(Number);
const querySchema = z.object({
  profile: z.string().optional(),
  after: wholeNumber.optional(),
  limit: wholeNumber.pipe(z.int().min(1).max(MOST_CHANGES)).default(100),
  tables: z.string().default(""),
});

export const changeRoutes = (app: FastifyInstance, context: ServerContext): void => {
  app.get("/api/changes", async (request, reply) => {
    const { profile, after = null, limit, tables } = querySchema.parse(request.query);
    const names = tables.split(",").filter((name) => name !== "");
    const page = await context
      .mirror(profile)
      .snapshots.use((snapshot) => readChanges(snapshot, snapshot.path, { after, limit, tables: changeTables(names) }));
    notesOf(request).rows = page.changes.length;
    reply.headers({ "content-type": "application/json; charset=utf-8", "cache-control": "private, no-cache" });
    return jsonText({ data: page.changes.map((change) => ({ ...change })), next: page.next }).text;
  });
};
