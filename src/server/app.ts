// Assembles the server of `serve` and `worker`: routes over the published snapshots, behind one access check. Only reads; functions that
// start work are passed in.
import { setMaxListeners } from "node:events";
import type { FastifyInstance } from "fastify";
import { isLoopbackHost, type ListenAddress, listenText } from "../core/config/setting-parsers.ts";
import { DuckmirrorError, detailOf } from "../core/errors.ts";
import { recordRequests } from "./audit-trail/hooks.ts";
import { createMetrics, createRunFigures } from "./figures/metrics.ts";
import { guardedApp } from "./http/guarded-app.ts";
import { createContext, type ServerOptions } from "./http/server-context.ts";
import { eventRoutes } from "./routes/events.ts";
import { explorerRoutes } from "./routes/explorer.ts";
import { healthRoutes, metricsRoutes } from "./routes/health.ts";
import { mirrorApiRoutes } from "./routes/mirror-api.ts";
import { pageRoutes } from "./routes/page.ts";
import { pageApiRoutes } from "./routes/page-api.ts";
import { changeRoutes, searchRoutes } from "./routes/search.ts";
import { destinationRoutes, fleetRoutes, followingRoutes, syncRoutes } from "./routes/syncs.ts";
import { snapshotRoutes } from "./snapshots/snapshot-routes.ts";

export interface Server {
  readonly app: FastifyInstance;
  /** At the start: whether any key was ever configured or created. */
  readonly asksForKey: boolean;
  /** Ends event streams and queries, closes connections and snapshots. */
  close(): Promise<void>;
}

/** The server, not listening yet. `more` adds routes behind the same check, e.g. the page of the queues. */
export const createServer = async (
  options: ServerOptions,
  more: (app: FastifyInstance) => Promise<void> | void = () => undefined,
): Promise<Server> => {
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const context = createContext(options, stopping.signal);
  const app = guardedApp(options, context);
  recordRequests(app, context);
  healthRoutes(app, context);
  mirrorApiRoutes(app, context);
  syncRoutes(app, context);
  followingRoutes(app, context);
  fleetRoutes(app, context);
  pageRoutes(app, context);
  pageApiRoutes(app, context);
  destinationRoutes(app, context);
  changeRoutes(app, context);
  searchRoutes(app, context);
  snapshotRoutes(app, context);
  eventRoutes(app, context);
  explorerRoutes(app, context);
  const figures = createRunFigures();
  const stopListening = options.triggers?.listen?.((event, { profile }) =>
    figures.note(profile, event, options.clock.now()),
  );
  metricsRoutes(app, createMetrics(context, figures));
  await more(app);

  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    stopListening?.();
    stopping.abort(new Error("the server is closing"));
    await app.close();
    await Promise.all(context.mirrors.map(({ snapshots }) => snapshots.close()));
  };
  return {
    app,
    asksForKey: context.keyring.required(),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
};

export interface RunningServer {
  /** Base address, e.g. `http://127.0.0.1:8737`. */
  readonly url: string;
  /** Ends every connection at once, then closes the snapshots. */
  close(): Promise<void>;
}

/**
 * Starts the server. Throws LISTEN_FAILED, and SERVER_KEY_MISSING for an address that other machines can reach
 * without a key; then the server is closed. `more` adds routes behind the same access check.
 */
export const startServer = async (
  options: Omit<ServerOptions, "listenHost">,
  listen: ListenAddress,
  more?: (app: FastifyInstance) => Promise<void> | void,
): Promise<RunningServer> => {
  const { app, asksForKey, close } = await createServer({ ...options, listenHost: listen.host }, more);
  if (!asksForKey && !isLoopbackHost(listen.host)) {
    await close();
    throw new DuckmirrorError("SERVER_KEY_MISSING", { listen: listenText(listen) });
  }
  try {
    const plain = await app.listen({ host: listen.host, port: listen.port });
    return { url: options.tls ? plain.replace(/^http:/, "https:") : plain, close };
  } catch (cause) {
    await close();
    throw new DuckmirrorError("LISTEN_FAILED", { listen: listenText(listen), detail: detailOf(cause) }, { cause });
  }
};
