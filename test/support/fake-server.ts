// The fake service behind a real socket.
import { createServer } from "node:http";
import type { FakeService } from "./fake-service.ts";

export interface FakeServer {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Listens on a free port of this machine; every request needs the bearer token `test-token`. `hold` keeps requests
 * waiting before they are answered.
 */
export const startFakeServer = async (
  service: FakeService,
  hold: (path: string) => Promise<void> = async () => undefined,
): Promise<FakeServer> => {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://fake");
    await hold(url.pathname);
    await service.options.hold?.();
    const authorised = request.headers.authorization === "Bearer test-token";
    const answer = authorised
      ? service.answer(url.pathname, Object.fromEntries(url.searchParams))
      : { status: 401, body: { error: { message: "no token" } }, headers: {} };
    const body = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
    response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the server has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
};
