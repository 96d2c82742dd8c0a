// The server of a fetcher: health, readiness and metrics. It has no mirror, so there is no page.
import { setMaxListeners } from "node:events";
import type { Server } from "./app.ts";
import { createRunFigures } from "./figures/run-figures.ts";
import { guardedApp } from "./guarded-app.ts";
import { createMetrics } from "./metrics/metrics.ts";
import { fetcherHealthRoutes } from "./routes/health.ts";
import { metricsRoutes } from "./routes/metrics.ts";
import { contextOf, type FetcherOptions } from "./server-context.ts";

/** The server, not listening yet. */
export const createFetcherServer = ({ readiness, ...options }: FetcherOptions): Server => {
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const context = contextOf({ ...options, profiles: [] }, stopping.signal);
  const app = guardedApp(options, context);
  fetcherHealthRoutes(app, context, readiness);
  metricsRoutes(app, createMetrics(context, createRunFigures()));
  return { app, asksForKey: context.keyring.required(), close: () => app.close().then(() => undefined) };
};
