// Limits connections of the server, so that nobody can block it by holding them: time for a request to arrive, and number of connections in
// total and per network.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { Socket } from "node:net";
import type { TlsFiles } from "../../core/config/secrets.ts";

// The network that an address belongs to: what one person can have of addresses without effort counts as one. Pure.

/** An IPv4 address; of an IPv6 address its /64, as its first four groups. */
export const networkOf = (address: string): string => {
  const [bare = ""] = address.replace(/^::ffff:(?=\d+\.)/i, "").split("%");
  if (!bare.includes(":")) return bare;
  const [head = "", tail = ""] = bare.split("::");
  const groups = (text: string) => text.split(":").filter((group) => group !== "");
  const gap = bare.includes("::") ? 8 - groups(head).length - groups(tail).length : 0;
  const all = [...groups(head), ...Array.from({ length: gap }, () => "0"), ...groups(tail)];
  return all.slice(0, 4).join(":");
};

// Who may stay connected when there are too many connections: the oldest one that brought no whole request makes room, of
// the network that holds the most. So a newcomer is answered while others hold all connections. Pure but for `close`.

interface Guest {
  readonly network: string;
  /** Somebody waits for an answer on it: a request has come whole. */
  isBusy(): boolean;
  /** Ends the connection. */
  close(): void;
}

interface RoomLimits {
  readonly connections: number;
  readonly perNetwork: number;
}

interface Room {
  /** Lets a connection in; another may have to go for it. False: there is no room. */
  enter(guest: Guest): boolean;
  leave(guest: Guest): void;
}

export const createRoom = ({ connections, perNetwork }: RoomLimits): Room => {
  /** In the order of their beginning. */
  const present = new Set<Guest>();
  const counts = new Map<string, number>();
  const countOf = (network: string) => counts.get(network) ?? 0;

  const leave = (guest: Guest): void => {
    if (!present.delete(guest)) return;
    const left = countOf(guest.network) - 1;
    if (left > 0) counts.set(guest.network, left);
    else counts.delete(guest.network);
  };

  /** An idle one goes for a network that holds as many at most, a busy one only for a network that holds two fewer. */
  const weakest = (network: string): Guest | null => {
    const own = countOf(network);
    let found: { readonly guest: Guest; readonly busy: boolean; readonly count: number } | null = null;
    for (const guest of present) {
      const count = countOf(guest.network);
      const busy = guest.isBusy();
      const mayGo =
        own >= perNetwork ? guest.network === network && !busy : busy ? count >= own + 2 : count >= Math.max(own, 1);
      if (!mayGo) continue;
      const isWeaker = found === null || (busy === found.busy ? count > found.count : found.busy);
      if (isWeaker) found = { guest, busy, count };
    }
    return found?.guest ?? null;
  };

  return {
    enter: (guest) => {
      if (present.size >= connections || countOf(guest.network) >= perNetwork) {
        const goes = weakest(guest.network);
        if (goes === null) return false;
        leave(goes);
        goes.close();
      }
      present.add(guest);
      counts.set(guest.network, countOf(guest.network) + 1);
      return true;
    },
    leave,
  };
};

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

// What each key used in its present minute: wrong keys of a network, bytes of a reader.

const MINUTE_MS = 60_000;
/** Keys that are remembered; the one used longest ago is forgotten first. */
const MOST_KEYS = 10_000;

interface Minute {
  /** ms since the epoch. */
  readonly since: number;
  readonly sum: number;
}

export const createMinuteSums = () => {
  const minutes = new Map<string, Minute>();
  const present = (key: string, now: number): Minute => {
    const minute = minutes.get(key);
    return minute === undefined || now - minute.since >= MINUTE_MS ? { since: now, sum: 0 } : minute;
  };
  return {
    /** ms until the key's next minute; 0: it has used less than `most` of this one. */
    waitMs: (key: string, most: number, now: number): number => {
      const { since, sum } = present(key, now);
      return sum < most ? 0 : Math.max(0, since + MINUTE_MS - now);
    },
    /** Adds an amount, and returns the minute's sum. */
    add: (key: string, amount: number, now: number): number => {
      const { since, sum } = present(key, now);
      minutes.delete(key);
      minutes.set(key, { since, sum: sum + amount });
      const [oldest] = minutes.keys();
      if (minutes.size > MOST_KEYS && oldest !== undefined) minutes.delete(oldest);
      return sum + amount;
    },
  };
};
