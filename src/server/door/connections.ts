// Limits on connections: how long a request may take to arrive, how many connections there may be, in all and from one
// address. What is beyond is closed at once, so that nobody can hold the door by holding connections.
import type { RequestListener, Server } from "node:http";
import { createServer } from "node:https";
import type { Socket } from "node:net";
import type { TlsFiles } from "../../core/config/tls-files.ts";

export interface ConnectionLimits {
  /** Head and body of a request must be here within this time, ms. */
  readonly requestMs: number;
  /** How often that is looked at, ms. */
  readonly checkMs: number;
  /** A connection on which nothing moves is closed after this time, ms. Longer than the heartbeat of event streams. */
  readonly idleMs: number;
  readonly connections: number;
  readonly perAddress: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  requestMs: 30_000,
  checkMs: 1_000,
  idleMs: 120_000,
  connections: 1_024,
  perAddress: 256,
};

/** Options of the HTTP server. */
export const httpOptions = ({ requestMs, checkMs, idleMs }: ConnectionLimits) => ({
  requestTimeout: requestMs,
  connectionTimeout: idleMs,
  keepAliveTimeout: idleMs,
  http: { headersTimeout: requestMs, connectionsCheckingInterval: checkMs },
});

/** An HTTPS server with the same limits. */
export const secureServer =
  ({ requestMs, checkMs, idleMs }: ConnectionLimits, { cert, key }: TlsFiles) =>
  (answer: RequestListener): Server => {
    const waits = { requestTimeout: requestMs, headersTimeout: requestMs, keepAliveTimeout: idleMs };
    const server = createServer(
      { ...waits, connectionsCheckingInterval: checkMs, cert, key, minVersion: "TLSv1.2", handshakeTimeout: requestMs },
      answer,
    );
    server.setTimeout(idleMs);
    return server;
  };

export const limitConnections = (server: Server, { connections, perAddress }: ConnectionLimits): void => {
  server.maxConnections = connections;
  const open = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const address = socket.remoteAddress ?? "";
    const count = (open.get(address) ?? 0) + 1;
    if (count > perAddress) {
      socket.destroy();
      return;
    }
    open.set(address, count);
    socket.once("close", () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
  });
};
