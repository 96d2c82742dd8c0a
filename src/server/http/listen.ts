// Starts the server of `serve` or a worker on a socket. Without a key it listens on this machine only.
import type { FastifyInstance } from "fastify";
import { isLoopbackHost, type ListenAddress, listenText } from "../../core/config/setting-parsers.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { createServer } from "../app.ts";
import type { ServerOptions } from "./server-context.ts";

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
