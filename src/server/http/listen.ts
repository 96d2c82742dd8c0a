// Starts the server of `serve` or a worker on a socket. Without a key it listens on this machine only.
import type { FastifyInstance } from "fastify";
import { isLoopbackHost, type ListenAddress, listenText } from "../../core/config/setting-parsers.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { createServer, type Server } from "../app.ts";
import type { ServerOptions } from "./server-context.ts";

export interface RunningServer {
  /** Base address, e.g. `http://127.0.0.1:8737`. */
  readonly url: string;
  /** Ends every connection at once, then closes the snapshots. */
  close(): Promise<void>;
}

/** Listens. Throws LISTEN_FAILED and SERVER_KEY_MISSING; then the server is closed. */
const listenWith = async (
  server: Server,
  { tls }: Pick<ServerOptions, "tls">,
  listen: ListenAddress,
): Promise<RunningServer> => {
  if (!server.asksForKey && !isLoopbackHost(listen.host)) {
    await server.close();
    throw new DuckmirrorError("SERVER_KEY_MISSING", { listen: listenText(listen) });
  }
  try {
    const plain = await server.app.listen({ host: listen.host, port: listen.port });
    const url = tls ? plain.replace(/^http:/, "https:") : plain;
    return { url, close: server.close };
  } catch (cause) {
    await server.close();
    throw new DuckmirrorError("LISTEN_FAILED", { listen: listenText(listen), detail: detailOf(cause) }, { cause });
  }
};

/**
 * Starts the server. Throws LISTEN_FAILED, and SERVER_KEY_MISSING for an address that other machines can reach
 * without a key. `more` adds routes behind the same access check.
 */
export const startServer = async (
  options: Omit<ServerOptions, "listenHost">,
  listen: ListenAddress,
  more?: (app: FastifyInstance) => Promise<void> | void,
): Promise<RunningServer> =>
  listenWith(await createServer({ ...options, listenHost: listen.host }, more), options, listen);
