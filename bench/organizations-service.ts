// A service with many organizations, one per token: each with its own rate limit and its own character.
import { createServer, type ServerResponse } from "node:http";

/** `hangs`: takes requests and never answers. `broken`: answers 500. `poor`: has no credits, answers 402. */
export type Character = "well" | "large" | "hangs" | "broken" | "poor";

export interface OrganizationsService {
  readonly url: string;
  /** ms since the epoch of every request that was answered with 200, by token. */
  served(token: string): readonly number[];
  refusals(): number;
  close(): Promise<void>;
}

const PAGE = 100;
const WINDOW_MS = 60_000;

const rowsOf = (list: string, page: number, perPage: number, total: number) =>
  Array.from({ length: Math.max(0, Math.min(perPage, total - (page - 1) * perPage)) }, (_, index) => {
    const id = total - (page - 1) * perPage - index;
    const updatedAt = new Date(Date.UTC(2026, 0, 1) + id * 60_000).toISOString();
    return list === "accounts"
      ? { id, name: `Account ${id}`, mainScore: id % 100, updatedAt }
      : { id, accountId: 1 + (id % 50), type: "hiring-alert", headline: `Signal ${id}`, date: updatedAt, updatedAt };
  });

/** `rows`: rows per list of an ordinary organization; a large one has a hundred times as many. */
export const startOrganizations = async (options: {
  readonly characterOf: (token: string) => Character;
  readonly rows: number;
  readonly perMinute: number;
  readonly latencyMs: number;
}): Promise<OrganizationsService> => {
  const { characterOf, rows, perMinute, latencyMs } = options;
  const served = new Map<string, number[]>();
  let refusals = 0;
  const send = (response: ServerResponse, status: number, body: unknown) =>
    setTimeout(() => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    }, latencyMs);
  const server = createServer((request, response) => {
    const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
    const character = characterOf(token);
    if (character === "hangs") return;
    if (character === "broken") return void send(response, 500, { error: "down" });
    if (character === "poor") return void send(response, 402, { error: "no credits left" });
    const url = new URL(request.url ?? "/", "http://localhost");
    const list = /^\/v1\/(accounts|signals)$/.exec(url.pathname)?.[1];
    const perPage = Number(url.searchParams.get("perPage") ?? 20);
    if (list === undefined) return void send(response, 404, { error: "no such route" });
    if (perPage > PAGE) return void send(response, 400, { error: `perPage must be at most ${PAGE}` });
    const times = served.get(token) ?? [];
    served.set(token, times);
    const now = Date.now();
    if (times.filter((at) => at > now - WINDOW_MS).length >= perMinute) {
      refusals += 1;
      return void send(response, 429, { error: "too fast" });
    }
    times.push(now);
    const total = character === "large" ? rows * 100 : rows;
    const page = Number(url.searchParams.get("page") ?? 1);
    const remaining = 100_000 - times.length;
    send(response, 200, {
      data: rowsOf(list, page, perPage, total),
      meta: { page, perPage, totalCount: total, totalPages: Math.ceil(total / perPage), timestamp: new Date(now) },
      usage: { limit: 100_000, used: times.length, remaining, resetsAt: "2099-01-01T00:00:00Z" },
    });
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the service has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    served: (token) => served.get(token) ?? [],
    refusals: () => refusals,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
};
