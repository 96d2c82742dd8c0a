// GET /api/fleet: queues, members and pauses of the fleet, for programs and the page.

import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { deliveryFigures } from "../../deliver/notes.ts";
import { notesOf } from "../audit-trail/request-notes.ts";
import { publishedAt } from "../figures/overview.ts";
import { notFound, parseBody } from "../http/refusals.ts";
import type { FollowedCompanies, Mirror, ServerContext } from "../http/server-context.ts";

// Followed companies: GET /api/following lists them, POST adds inputs, DELETE removes some.

/** Most inputs of one request; a list of more comes in several. */
const MOST_INPUTS = 10_000;

const inputsSchema = z.strictObject({
  inputs: z.array(z.string()).min(1).max(MOST_INPUTS),
  profile: z.string().nullable().default(null),
});
const removeSchema = inputsSchema.extend({ erase: z.boolean().default(false) });
const profileSchema = z.object({ profile: z.string().optional() });

export const followingRoutes = (app: FastifyInstance, context: ServerContext): void => {
  const companiesOf = ({ following }: Mirror): FollowedCompanies => {
    if (following === undefined) throw notFound("list of followed companies on this server");
    return following;
  };

  app.get("/api/following", async (request) => {
    const { profile } = profileSchema.parse(request.query);
    return { following: await companiesOf(context.mirror(profile)).list() };
  });

  app.post("/api/following", async (request) => {
    const { inputs, profile } = parseBody(inputsSchema, request.body);
    const result = await companiesOf(context.target(profile)).add(inputs);
    notesOf(request).rows = result.added.length;
    return result;
  });

  app.delete("/api/following", async (request) => {
    const { inputs, profile, erase } = parseBody(removeSchema, request.body);
    const result = await companiesOf(context.target(profile)).remove(inputs, erase);
    notesOf(request).rows = result.removed.length;
    return result;
  });
};

// GET /api/destinations: how far each destination is behind the published snapshot.

const querySchema = z.object({ profile: z.string().optional() });

export const destinationRoutes = (app: FastifyInstance, context: ServerContext): void => {
  app.get("/api/destinations", async (request) => {
    const { snapshots, deliveries } = context.mirror(querySchema.parse(request.query).profile);
    const present = await snapshots.use(publishedAt);
    const states = (await deliveries?.()) ?? [];
    return { destinations: states.map((one) => deliveryFigures(one, present)) };
  });
};

export const fleetRoutes = (app: FastifyInstance, { fleet }: ServerContext): void => {
  app.get("/api/fleet", async () => {
    if (fleet === undefined) throw notFound("fleet of workers without Redis");
    return fleet();
  });
};
