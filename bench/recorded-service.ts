// A service that answers from memory what a sandbox answered before: costs next to nothing, so that what is measured
// against it is the client alone.
import { once } from "node:events";
import { createServer } from "node:http";
import type { Sandbox } from "../src/sandbox/sandbox.ts";

interface Recorded {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Path and query → answer. */
export type Recording = ReadonlyMap<string, Recorded>;

const keyOf = (path: string, query: URLSearchParams): string => {
  query.sort();
  return `${path}?${query}`;
};

/** Records every answer of the sandbox from now on. */
export const record = (sandbox: Sandbox): Recording => {
  const recording = new Map<string, Recorded>();
  sandbox.intercept(async (request, next) => {
    const { status, headers, body } = await next();
    recording.set(keyOf(request.path, new URLSearchParams(request.query)), { status, headers, body });
    return { status, headers, body };
  });
  return recording;
};

/** Serves a recording on a free port of this machine. */
export const serveRecording = async (recording: Recording) => {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://recorded");
    const answer = recording.get(keyOf(url.pathname, url.searchParams));
    if (answer === undefined) response.writeHead(404).end();
    else response.writeHead(answer.status, { ...answer.headers }).end(answer.body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the server has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
};
