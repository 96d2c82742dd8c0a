// A small organization whose lists change: rows are updated, come and go, so that a mirror of it has work for years.
import { createServer } from "node:http";

interface Row {
  readonly id: number;
  text: string;
  updatedAt: string;
}

export interface ChangingService {
  readonly url: string;
  /** Updates, inserts and deletes rows: `share` of them in all. `now`: ms since the epoch. */
  change(share: number, now: number): void;
  close(): Promise<void>;
}

const LARGEST_PAGE = 1000;
const LISTS = ["accounts", "signals"] as const;
type List = (typeof LISTS)[number];

const aRow = (id: number, now: number): Row => ({
  id,
  text: `row ${id} as of ${now}`,
  updatedAt: new Date(now).toISOString(),
});

const fieldsOf = (list: List, { id, text, updatedAt }: Row) =>
  list === "accounts"
    ? { id, name: text, mainScore: id % 100, createdAt: updatedAt, updatedAt }
    : {
        id,
        accountId: id % 300,
        type: "hiring-alert",
        headline: text,
        date: updatedAt,
        createdAt: updatedAt,
        updatedAt,
      };

/** `rows`: rows per list. */
export const startChangingService = async (rows: Readonly<Record<List, number>>, start: number) => {
  const lists = new Map<List, Row[]>();
  for (const list of LISTS)
    lists.set(
      list,
      Array.from({ length: rows[list] }, (_, index) => aRow(index + 1, start)),
    );
  const next = new Map<List, number>(LISTS.map((list) => [list, rows[list] + 1]));
  let changed = 0;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    const list = LISTS.find((name) => url.pathname === `/v1/${name}`);
    const detail = /^\/v1\/(accounts|signals)\/(\d+)$/.exec(url.pathname);
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const usage = { limit: 10_000_000, used: 1, remaining: 9_999_999, resetsAt: "2099-01-01T00:00:00Z" };
    if (detail !== null) {
      const of = detail[1] === "accounts" ? "accounts" : "signals";
      const row = lists.get(of)?.find(({ id }) => id === Number(detail[2]));
      return row === undefined ? send(404, {}) : send(200, { data: fieldsOf(of, row), usage });
    }
    if (list === undefined) return send(404, {});
    const perPage = Number(url.searchParams.get("perPage") ?? 20);
    if (perPage > LARGEST_PAGE) return send(400, { error: `perPage is at most ${LARGEST_PAGE}` });
    const all = [...(lists.get(list) ?? [])];
    const byDate = url.searchParams.get("sortBy") === "updatedAt";
    all.sort((a, b) => (byDate && a.updatedAt !== b.updatedAt ? (a.updatedAt < b.updatedAt ? 1 : -1) : b.id - a.id));
    const page = Number(url.searchParams.get("page") ?? 1);
    const data = all.slice((page - 1) * perPage, page * perPage).map((row) => fieldsOf(list, row));
    const totalPages = Math.ceil(all.length / perPage);
    return send(200, { data, meta: { page, perPage, totalCount: all.length, totalPages }, usage });
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the service has no port");

  const change = (share: number, now: number): void => {
    for (const list of LISTS) {
      const all = lists.get(list) ?? [];
      const count = Math.max(3, Math.round(all.length * share));
      for (let index = 0; index < count; index++) {
        changed += 1;
        const at = (changed * 7919) % all.length;
        const row = all[at];
        if (index % 10 === 0) {
          const id = next.get(list) ?? 1;
          next.set(list, id + 1);
          all.splice(at, 1);
          all.push(aRow(id, now));
        } else if (row !== undefined) Object.assign(row, aRow(row.id, now));
      }
    }
  };
  const service: ChangingService = {
    url: `http://127.0.0.1:${address.port}`,
    change,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return service;
};
