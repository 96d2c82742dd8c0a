// Limits on connections: time for a request to arrive, and number of connections in total and per network
// (connection-room.ts). Nobody can block the server by holding connections.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { Socket } from "node:net";
import type { TlsFiles } from "../../core/config/secrets/tls-files.ts";
import { createRoom, type Guest } from "./connection-room.ts";
import { networkOf } from "./network.ts";

export interface ConnectionLimits {
  /** Time limit for head and body of a request, ms. */
  readonly requestMs: number;
  /** Interval of this check, ms. */
  readonly checkMs: number;
  /** Time after which an idle connection is closed, ms. Longer than the heartbeat of event streams. */
  readonly idleMs: number;
  readonly connections: number;
  readonly perAddress: number;
  /** Requests under way on one connection. A client exceeds it only if it does not wait for responses. */
  readonly perConnection: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  requestMs: 30_000,
  checkMs: 1_000,
  idleMs: 120_000,
  connections: 1_024,
  perAddress: 256,
  perConnection: 32,
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

/** TLS gives requests another socket than connections; both have the same other end. */
const endOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/** Limits the connections in all and of one network. */
export const limitConnections = (server: Server, { connections, perAddress }: ConnectionLimits): void => {
  const room = createRoom({ connections, perNetwork: perAddress });
  const open = new Map<string, Map<ServerResponse, IncomingMessage>>();
  server.on("connection", (socket: Socket) => {
    const end = endOf(socket);
    const requests = new Map<ServerResponse, IncomingMessage>();
    const guest: Guest = {
      network: networkOf(socket.remoteAddress ?? ""),
      isBusy: () => [...requests.values()].some(({ complete }) => complete),
      close: () => void socket.destroy(),
    };
    if (!room.enter(guest)) {
      socket.destroy();
      return;
    }
    open.set(end, requests);
    socket.once("close", () => {
      room.leave(guest);
      if (open.get(end) === requests) open.delete(end);
    });
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const requests = open.get(endOf(request.socket));
    requests?.set(response, request);
    response.once("close", () => requests?.delete(response));
  });
};

/** Counts the requests under way on each connection. The returned function adds one; false: there are too many. */
export const countRequests = ({ perConnection }: ConnectionLimits) => {
  const underWay = new WeakMap<Socket, number>();
  return (socket: Socket, response: ServerResponse): boolean => {
    const count = (underWay.get(socket) ?? 0) + 1;
    underWay.set(socket, count);
    response.once("close", () => underWay.set(socket, (underWay.get(socket) ?? 1) - 1));
    return count <= perConnection;
  };
};
