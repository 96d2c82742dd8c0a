// Servers over snapshots, closed after the test.
import type { FastifyInstance } from "fastify";
import { systemClock } from "../../src/core/clock.ts";
import { createServer, type RunningServer, type Server, startServer } from "../../src/server/app.ts";
import type { ServerOptions } from "../../src/server/http/server-context.ts";
import { afterTest } from "./after-test.ts";

/** A server of one mirror without a key; a fault fails the test. */
export const serving = (snapshot = "/nonexistent/warehouse.duckdb"): ServerOptions => ({
  profiles: [{ name: "default", snapshot, ratePerMinute: null }],
  key: null,
  listenHost: "127.0.0.1",
  clock: systemClock,
  version: "1.2.3",
  onFault: (error) => {
    throw error;
  },
});

/** Without a socket. */
export const aServer = async (
  options: ServerOptions,
  more?: (app: FastifyInstance) => Promise<void> | void,
): Promise<Server> => {
  const server = await createServer(options, more);
  afterTest(server.close);
  return server;
};

/** On a free port of this machine. */
export const aRunningServer = async (options: ServerOptions): Promise<RunningServer> => {
  const server = await startServer(options, { host: "127.0.0.1", port: 0 });
  afterTest(server.close);
  return server;
};
