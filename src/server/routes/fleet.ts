// GET /api/fleet: queues, members and pauses of the fleet, for programs and the page.
import type { FastifyInstance } from "fastify";
import { notFound } from "../refusals.ts";
import type { ServerContext } from "../server-context.ts";

export const fleetRoutes = (app: FastifyInstance, { fleet }: ServerContext): void => {
  app.get("/api/fleet", async () => {
    if (fleet === undefined) throw notFound("fleet of workers without Redis");
    return fleet();
  });
};
