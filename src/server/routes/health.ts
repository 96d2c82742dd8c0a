// /healthz: the process responds. /readyz: every mirror has a snapshot that opens. Both without a key, because they
// show no data.
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { ServerContext } from "../server-context.ts";
import { perSnapshot } from "../snapshot.ts";

/** Checked once per publish: a probe every few seconds must not open five hundred files. */
const opensWell = perSnapshot(async (snapshot) => {
  await snapshot.query("SELECT 1 AS one", [], z.object({ one: z.number() }));
  return true;
});

export const healthRoutes = (app: FastifyInstance, { mirrors, version }: ServerContext): void => {
  app.get("/healthz", async () => ({ status: "ok", version }));

  app.get("/readyz", async (_request, reply) => {
    const opens = await Promise.all(mirrors.map(({ snapshots }) => snapshots.use(opensWell).catch(() => false)));
    const missing = opens.filter((open) => !open).length;
    reply.code(missing === 0 ? 200 : 503);
    return { status: missing === 0 ? "ready" : "not ready", mirrors: opens.length, missing };
  });
};
