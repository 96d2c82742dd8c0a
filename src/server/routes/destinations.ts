// GET /api/destinations: how far each destination is behind the published snapshot.
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { deliveryFigures } from "../../deliver/notes.ts";
import type { ServerContext } from "../server-context.ts";

const querySchema = z.object({ profile: z.string().optional() });

export const destinationRoutes = (app: FastifyInstance, context: ServerContext): void => {
  app.get("/api/destinations", async (request) => {
    const { snapshots, deliveries } = context.mirror(querySchema.parse(request.query).profile);
    const publishedAt = await snapshots.use(async (snapshot) => snapshot.publishedAt);
    const states = (await deliveries?.()) ?? [];
    return { destinations: states.map((one) => deliveryFigures(one, publishedAt)) };
  });
};
