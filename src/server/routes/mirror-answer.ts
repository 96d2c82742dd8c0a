// Responses of the `/v1` routes over a mirror's snapshot: cached, compressed, and 304 for a client that has the response already. replica/
// makes their content.
import { createHash, randomUUID } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { RouteSpec } from "../../catalog/endpoints.ts";
import { createCache, createFilledColumns, createListOrders, type KnownOrder } from "../../replica/cache/list-cache.ts";
import { type Answer, type Coding, codingFor, compressed, writeEnvelope } from "../../replica/envelope.ts";
import { matchRoute, type RouteMatch } from "../../replica/query/route-match.ts";
import { createReplica, type ReplicaRequest } from "../../replica/replica.ts";
import { lastQuota, quotaOf } from "../../replica/usage.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { notesOf } from "../audit-trail/request-notes.ts";
import { lastRunAt, tablesOf } from "../figures/overview.ts";
import { isKnown } from "../http/assets.ts";
import type { Mirror, ServerContext } from "../http/server-context.ts";
import { perSnapshot, type Snapshot } from "../snapshots/snapshot.ts";

// Worst-case age of the data behind a route: the time when its lists were last compared with the service.

/** Streams that supply a route's rows; the first one ever checked counts. */
const streamsOf = ({ shape, tier, table }: RouteSpec): readonly string[] => {
  if (shape === "counts") return ["signals"];
  if (tier === "any") return shape === "feedback" ? [] : ["usage"];
  // Profiles of tracked companies are embedded in their accounts.
  return table === "companies" ? ["companies", "accounts"] : table === null ? [] : [table];
};

const checkedRow = z.object({ stream: z.string(), scope: z.string(), checked_at: z.number() });

/** Stream → time when its stalest list was checked; `stream scope` → time when that list was checked. */
const readChecked = perSnapshot(async (snapshot) => {
  const oldest = new Map<string, number>();
  const lists = new Map<string, number>();
  for (const { stream, oldest_checked_at: checkedAt } of await tablesOf(snapshot)) {
    if (checkedAt !== null) oldest.set(stream, checkedAt);
  }
  for (const row of await snapshot.query(sqlText("server/checked.sql"), [], checkedRow)) {
    lists.set(`${row.stream} ${row.scope}`, row.checked_at);
  }
  return { oldest, lists };
});

/** Time of a route's data, ms since the epoch: no record in the response was checked earlier. */
const dataTime = async (snapshot: Snapshot, { route, path }: RouteMatch): Promise<number> => {
  const { oldest, lists } = await readChecked(snapshot);
  for (const stream of streamsOf(route)) {
    const list = path.companyId === undefined ? undefined : lists.get(`${stream} ${path.companyId}`);
    // Looks since the snapshot have the time of each stream, not that of each company's list.
    const known = list ?? oldest.get(stream) ?? lists.get(`${stream} `);
    if (known !== undefined) return known;
  }
  return lastRunAt(snapshot);
};

// Answers of `/v1` that stay true: a snapshot never changes, so neither does what it answers to an address. Bounded in
// bytes; the answers that were sent longest ago go first.

/** Bytes of an answer, and what its headers and its line in the audit trail need. */
export interface KeptAnswer {
  readonly bytes: Buffer;
  readonly rows: number;
}

interface AnswerCache {
  /** The answer under this key; `write` is called once for all who ask for it at the same time. */
  get(key: string, write: () => Promise<KeptAnswer>): Promise<KeptAnswer>;
}

/** What an entry takes beside its bytes: key, objects, place in the map. */
const ENTRY_BYTES = 512;

/** A cache of at most `mostBytes`. A failed `write` is not kept. */
export const createAnswerCache = (mostBytes: number): AnswerCache => {
  const kept = createCache<KeptAnswer>(mostBytes);
  const pending = new Map<string, Promise<KeptAnswer>>();

  const written = async (key: string, write: () => Promise<KeptAnswer>): Promise<KeptAnswer> => {
    try {
      const answer = await write();
      kept.set(key, answer, answer.bytes.length + ENTRY_BYTES);
      return answer;
    } finally {
      pending.delete(key);
    }
  };

  return {
    get: async (key, write) => {
      const known = kept.get(key);
      if (known !== undefined) return known;
      const started = pending.get(key);
      if (started !== undefined) return started;
      const writing = written(key, write);
      pending.set(key, writing);
      return writing;
    },
  };
};

export const JSON_TYPE = "application/json; charset=utf-8";
/** Most rows per page; higher than the service's, because pages cost nothing here. */
export const MOST_PER_PAGE = 1000;
/** Most bytes of answers that are kept, of all profiles together. */
const MOST_KEPT_BYTES = 32 * 1024 * 1024;
/** Most bytes of orders of lists that are kept, of all profiles together: 8 a row, for each order that is asked for often. */
const MOST_ORDER_BYTES = 128 * 1024 * 1024;

/** The latest reading: that of the last look, else the snapshot's. */
const readQuota = perSnapshot(async (snapshot: Snapshot) => {
  const looked = snapshot.looks.at(-1)?.credits ?? null;
  return looked === null ? lastQuota(snapshot) : { ...looked, limit: looked.credit_limit };
});

export const pathAndQuery = (url: string, prefix: string) => {
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = Object.fromEntries(new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1)));
  return { path: path.slice(prefix.length), query };
};

/** Records in an answer, embedded ones aside. */
const rowsOf = ({ data, paging }: Answer): number => {
  if (paging === undefined) return data === undefined ? 0 : 1;
  return Math.max(0, Math.min(paging.perPage, paging.totalCount - (paging.page - 1) * paging.perPage));
};

/**
 * Name of an answer: the same for the same request of the same snapshot. Parameters that the route does not know
 * change no answer.
 */
const identityOf = (of: readonly (string | number)[], { match, query }: ReplicaRequest): string => {
  const known = match.route.query.map((param) => query[param.name] || String(param.default ?? ""));
  const text = JSON.stringify([of, match.route.name, Object.entries(match.path), known]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 27);
};

const sendBytes = (
  reply: FastifyReply,
  { bytes, coding }: { readonly bytes: Buffer; readonly coding?: Coding | undefined },
) => {
  if (coding !== undefined) reply.header("content-encoding", coding);
  return reply.header("content-type", JSON_TYPE).send(bytes);
};

/** Headers of every answer: the time of its data, and its age. */
const ageHeaders = (time: number, now: number) => {
  const ageSeconds = String(Math.max(0, Math.round((now - time) / 1000)));
  return {
    "cache-control": "private, no-cache",
    vary: "accept-encoding",
    age: ageSeconds,
    "x-duckmirror-data-age": ageSeconds,
    "x-duckmirror-data-time": new Date(time).toISOString(),
  };
};

/** Sends an answer that is the same for every reader of a snapshot. Sets no header of a request that is refused. */
const sendKept = async (
  request: FastifyRequest,
  reply: FastifyReply,
  headers: ReturnType<typeof ageHeaders>,
  identity: string,
  cache: AnswerCache,
  write: (requestId: string) => Promise<KeptAnswer>,
) => {
  const etag = `W/"${identity}"`;
  if (isKnown(request.headers["if-none-match"], etag)) {
    notesOf(request).rows = 0;
    return reply.headers(headers).header("etag", etag).code(304).send();
  }
  const plain = await cache.get(identity, () => write(`mirror_${identity}`));
  notesOf(request).rows = plain.rows;
  const coding = codingFor(request.headers["accept-encoding"], plain.bytes.length);
  const { bytes } =
    coding === undefined
      ? plain
      : await cache.get(`${identity} ${coding}`, async () => ({
          bytes: await compressed(plain.bytes, coding),
          rows: plain.rows,
        }));
  return sendBytes(reply.headers(headers).header("etag", etag), { bytes, coding });
};

/** Answers a request below `prefix` from a mirror. Throws `Refusal`. */
export const createMirrorAnswer = ({ clock, version }: ServerContext) => {
  const orders = createCache<KnownOrder>(MOST_ORDER_BYTES);
  const replicaOf = perSnapshot(async (snapshot: Snapshot) => {
    // The list orders of the earlier snapshot.
    orders.dropAll(`${snapshot.path} `);
    return createReplica({
      database: snapshot,
      clock,
      tier: () => "full",
      maxPerPage: MOST_PER_PAGE,
      columns: createFilledColumns(snapshot),
      orders: createListOrders({
        reader: snapshot,
        cache: orders,
        mostBytes: MOST_ORDER_BYTES,
        name: `${snapshot.path} ${snapshot.version}`,
      }),
    });
  });
  const cache = createAnswerCache(MOST_KEPT_BYTES);

  return async (mirror: Mirror, request: FastifyRequest, prefix: string, reply: FastifyReply) => {
    const { path, query } = pathAndQuery(request.raw.url ?? "/", prefix);
    const match = matchRoute(request.method, path);
    return mirror.snapshots.use(async (snapshot) => {
      const now = clock.now();
      const time = await dataTime(snapshot, match);
      const usage = quotaOf(await readQuota(snapshot), now);
      const asked = { match, query };
      const write = async (requestId: string): Promise<KeptAnswer> => {
        const replica = await replicaOf(snapshot);
        const found = await replica.answer(asked);
        const text = writeEnvelope(found, { requestId, now: time, usage });
        return { bytes: Buffer.from(text), rows: rowsOf(found) };
      };
      const headers = ageHeaders(time, now);
      // What the usage routes answer depends on the time of the request.
      if (match.route.tier === "any") {
        const { bytes, rows } = await write(`mirror_${randomUUID()}`);
        notesOf(request).rows = rows;
        return sendBytes(reply.headers(headers), { bytes });
      }
      const identity = identityOf([version, mirror.name, snapshot.version, usage.resetsAt], asked);
      return sendKept(request, reply, headers, identity, cache, write);
    });
  };
};
