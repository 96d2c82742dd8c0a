// /healthz: the process responds. /readyz: every mirror has a snapshot that opens. /key-proof: the server knows the
// client's key. These routes need no key, because they show no data; a pause is shown without its profile's name.

import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { endsWithin } from "../../core/async/waiting.ts";
import type { Fleet } from "../../core/report/fleet.ts";
import { createProver, nonceSchema, PROOF_PATH } from "../access/key-store.ts";
import type { MetricsPage } from "../figures/metrics.ts";
import type { ServerContext } from "../http/server-context.ts";
import { perSnapshot } from "../snapshots/snapshot.ts";

// GET /metrics for Prometheus.

export const metricsRoutes = (app: FastifyInstance, metrics: MetricsPage): void => {
  app.get("/metrics", async (_request, reply) => {
    reply.header("content-type", metrics.contentType);
    return metrics.text();
  });
};

/** A probe does not wait longer for Redis, ms. */
const FLEET_WAIT_MS = 500;

/** Checked once per publish: a probe every few seconds must not open five hundred files. */
const opensWell = perSnapshot(async (snapshot) => {
  await snapshot.query("SELECT 1 AS one", [], z.object({ one: z.number() }));
  return true;
});

const pausesIn = ({ paused }: Fleet) => ({
  fleet: paused.some(({ kind }) => kind === "fleet"),
  profiles: paused.filter(({ kind }) => kind === "profile").length,
  queues: paused.flatMap(({ kind, name }) => (kind === "queue" && name !== null ? [name] : [])),
});

/** What is paused, as a member of the response; null while Redis does not answer. */
const pauseDetail = async ({ fleet, clock }: Pick<ServerContext, "fleet" | "clock">) => {
  if (fleet === undefined) return {};
  let paused: ReturnType<typeof pausesIn> | null = null;
  const reading = fleet().then((found) => {
    paused = pausesIn(found);
  });
  await endsWithin(reading, FLEET_WAIT_MS, clock).catch(() => false);
  return { paused };
};

/** How many profiles this process cannot sync, as a member of the response. */
const unableDetail = ({ unable }: Pick<ServerContext, "unable">) =>
  unable === undefined ? {} : { unable: unable().length };

const proofQuery = z.object({ nonce: nonceSchema });

export const healthRoutes = (app: FastifyInstance, context: ServerContext): void => {
  const { mirrors, version, keyring, clock } = context;
  const prove = createProver(keyring);
  app.get(PROOF_PATH, ({ query, raw }) => prove(proofQuery.parse(query).nonce, raw.socket.localPort ?? 0, clock.now()));

  app.get("/healthz", async () => ({ status: "ok", version }));

  app.get("/readyz", async (_request, reply) => {
    const opens = await Promise.all(mirrors.map(({ snapshots }) => snapshots.use(opensWell).catch(() => false)));
    const missing = opens.filter((open) => !open).length;
    reply.code(missing === 0 ? 200 : 503);
    const status = missing === 0 ? "ready" : "not ready";
    return { status, mirrors: opens.length, missing, ...unableDetail(context), ...(await pauseDetail(context)) };
  });
};
