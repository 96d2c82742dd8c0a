// GET /metrics for Prometheus.
import type { FastifyInstance } from "fastify";
import type { MetricsPage } from "../metrics/metrics.ts";

export const metricsRoutes = (app: FastifyInstance, metrics: MetricsPage): void => {
  app.get("/metrics", async (_request, reply) => {
    reply.header("content-type", metrics.contentType);
    return metrics.text();
  });
};
