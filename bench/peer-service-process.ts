// The benchmark's service, a process of its own: answers lists from memory, counts credits, moves its rows while they are
// read, refuses beyond a rate, kills a client at a given page. Prints its address; steered over /control.
// Run: node peer-service-process.js <accounts> <seed> <organization|all>
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createRandom } from "../src/sandbox/random.ts";
import { type ControlOrder, controlOrder, type ServiceFigures } from "./peer-control.ts";
import { type ListRow, type Moves, PeerList } from "./peer-list.ts";
import { readWorld } from "./peer-world.ts";

const WINDOW_MS = 60_000;
const QUOTA = 100_000_000;
const SORTED: Readonly<Record<string, { readonly version: string; readonly sortBy: string }>> = {
  "/v1/accounts": { version: "updatedAt", sortBy: "mainScore" },
  "/v1/contacts": { version: "lastChangeDetectedOn", sortBy: "inCurrentRoleSince" },
  "/v1/signals": { version: "updatedAt", sortBy: "date" },
};
const RELATED = { company: ["companyId", "companies"], owner: ["ownerId", "owners"] } as const;

const [, , accounts, seed, which] = process.argv;
const world = await readWorld({ accounts: Number(accounts), seed: Number(seed), companyLists: which === "all" });
let lists = new Map<string, PeerList>();
let random = createRandom("peers");
let settings: Extract<ControlOrder, { order: "reset" }> = {
  order: "reset",
  maxPerPage: 100,
  perMinute: null,
  moves: null,
};
let figures: ServiceFigures = { requests: 0, credits: 0, refused: 0, otherErrors: 0 };
let doom: Extract<ControlOrder, { order: "kill" }> | null = null;
/** By token: when requests were let through, and how many were refused. */
interface Counted {
  readonly arrivals: readonly number[];
  readonly served: number;
  readonly refused: number;
  /** Of its first request, and of the latest one that was let through. */
  readonly firstAt: number;
  readonly latestAt: number;
}
let clients = new Map<string, Counted>();

const reset = (order: typeof settings) => {
  settings = order;
  random = createRandom("peers");
  lists = new Map(
    [...world.lists].map(([path, rows]) => [path, new PeerList(rows, SORTED[path] ?? { version: null, sortBy: null })]),
  );
};
const clearFigures = () => {
  figures = { requests: 0, credits: 0, refused: 0, otherErrors: 0 };
  clients = new Map();
  doom = null;
};
reset(settings);

const chosen = (row: ListRow, only: readonly string[] | undefined): string =>
  only === undefined
    ? row.json
    : JSON.stringify(Object.fromEntries(Object.entries(row.fields).filter(([name]) => only.includes(name))));

const includedOf = (rows: readonly ListRow[], include: string | null): string => {
  const members = (include ?? "").split(",").flatMap((name) => {
    if (name !== "company" && name !== "owner") return [];
    const [link, many] = RELATED[name];
    const ids = new Set(rows.map(({ fields }) => String(fields[link])));
    const records = [...ids].flatMap((id) => world.related[name].get(id) ?? []);
    return [`"${many}":[${records.join(",")}]`];
  });
  return members.length === 0 ? "" : `"included":{${members.join(",")}},`;
};

const envelope = (data: string, included: string, paging: object): string => {
  const meta = { requestId: `req_${figures.requests}`, apiVersion: "1.0.0", timestamp: new Date(), ...paging };
  const usage = {
    limit: QUOTA,
    used: figures.credits,
    remaining: QUOTA - figures.credits,
    resetsAt: "2099-01-01T00:00:00Z",
  };
  return `{"data":${data},${included}"meta":${JSON.stringify(meta)},"usage":${JSON.stringify(usage)}}`;
};

/** Body of a 200, or the status of a refusal. */
const answerList = (path: string, list: PeerList, query: URLSearchParams): string | 400 => {
  const perPage = Number(query.get("perPage") ?? 20);
  const page = Number(query.get("page") ?? 1);
  if (perPage > settings.maxPerPage) return 400;
  const than = query.get("lastChangeDetectedAfter");
  const { rows, total } = list.page({
    page,
    perPage,
    sortBy: SORTED[path] === undefined ? null : query.get("sortBy"),
    ascending: query.get("sortOrder") === "asc",
    after: than === null ? null : { field: "lastChangeDetectedOn", than },
  });
  const only = query.get("onlyWithFields")?.split(",");
  const paging = { page, perPage, totalCount: total, totalPages: Math.ceil(total / perPage) };
  const data = `[${rows.map((row) => chosen(row, only)).join(",")}]`;
  return envelope(data, includedOf(rows, query.get("include")), paging);
};

const answer = (url: URL): string | 400 | 404 => {
  const list = lists.get(url.pathname);
  if (list !== undefined) return answerList(url.pathname, list, url.searchParams);
  const [, parent = "", id = ""] = /^(\/v1\/\w+)\/(\w+)$/.exec(url.pathname) ?? [];
  const row = lists.get(parent)?.row(id);
  return row === undefined ? 404 : envelope(row.json, "", {});
};

interface Reading {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly resetSeconds: number;
}

/** The sliding minute of a token; null without a rate. */
const take = (token: string, now: number): Reading | null => {
  const { perMinute } = settings;
  if (perMinute === null) return null;
  const client = clients.get(token) ?? { arrivals: [], served: 0, refused: 0, firstAt: now, latestAt: now };
  const recent = client.arrivals.filter((at) => at > now - WINDOW_MS);
  const allowed = recent.length < perMinute;
  const arrivals = allowed ? [...recent, now] : recent;
  clients.set(token, {
    arrivals,
    firstAt: client.firstAt,
    latestAt: allowed ? now : client.latestAt,
    served: client.served + (allowed ? 1 : 0),
    refused: client.refused + (allowed ? 0 : 1),
  });
  const resetSeconds = Math.max(1, Math.ceil(((arrivals[0] ?? now) + WINDOW_MS - now) / 1000));
  return { allowed, remaining: perMinute - arrivals.length, resetSeconds };
};

const moved = (path: string, moves: Moves | null) => {
  if (moves !== null && SORTED[path] !== undefined) lists.get(path)?.move(moves, random, Date.now());
};

const rateHeaders = (reading: Reading | null): Record<string, string> =>
  reading === null
    ? {}
    : {
        "ratelimit-limit": String(settings.perMinute),
        "ratelimit-remaining": String(reading.remaining),
        "ratelimit-reset": String(reading.resetSeconds),
        "ratelimit-policy": `${settings.perMinute};w=60`,
      };

const serve = (url: URL, token: string, response: ServerResponse) => {
  figures = { ...figures, requests: figures.requests + 1 };
  const reading = take(token, Date.now());
  const json = { "content-type": "application/json", ...rateHeaders(reading) };
  if (reading?.allowed === false) {
    figures = { ...figures, refused: figures.refused + 1 };
    response.writeHead(429, { ...json, "retry-after": String(reading.resetSeconds) }).end('{"error":"too fast"}');
    return;
  }
  const body = answer(url);
  if (typeof body === "number") {
    figures = { ...figures, otherErrors: figures.otherErrors + 1 };
    response.writeHead(body, json).end(`{"error":"${body}"}`);
    return;
  }
  figures = { ...figures, credits: figures.credits + 1 };
  moved(url.pathname, settings.moves);
  response.writeHead(200, json).end(body, () => {
    if (doom === null || figures.credits < doom.afterCredits) return;
    // The whole process group, as when a container is taken away.
    process.kill(-doom.group, "SIGKILL");
    doom = null;
  });
};

const obey = (order: ControlOrder): unknown => {
  switch (order.order) {
    case "reset":
      reset(order);
      clearFigures();
      return {};
    case "rest":
      settings = { ...settings, moves: null };
      return {};
    case "clear":
      clearFigures();
      return {};
    case "change":
      for (const path of Object.keys(SORTED)) lists.get(path)?.change(order.share, random, Date.now());
      return {};
    case "kill":
      doom = order;
      return {};
    case "figures":
      return figures;
    case "clients":
      return Object.fromEntries(
        [...clients].map(([token, { served, refused, firstAt, latestAt }]) => [
          token,
          { served, refused, requestsMs: latestAt - firstAt },
        ]),
      );
    case "rows":
      return [...lists].map(([path, list]) => [path, list.versions()]);
    default: {
      const never: never = order;
      return never;
    }
  }
};

const control = async (request: IncomingMessage, response: ServerResponse) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const result = obey(controlOrder.parse(JSON.parse(Buffer.concat(chunks).toString("utf8"))));
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(result));
};

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://service");
  const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
  if (url.pathname !== "/control") serve(url, token, response);
  else control(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the service has no port");
  process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
