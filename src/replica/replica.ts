// The `/v1` routes of API.md over a warehouse: the sandbox serves a generated one, `duckmirror serve` the user's
// mirror.
// Independent of any HTTP server: requests and responses are values (envelope.ts writes the text).

import { z } from "zod";
import type { RouteSpec } from "../catalog/endpoints.ts";
import { SIGNAL_TYPES } from "../catalog/resources.ts";
import type { Clock } from "../core/clock.ts";
import { everyColumn, type FilledColumns, type ListOrders } from "./cache/list-cache.ts";
import { type Answer, dataAnswer, type Quota } from "./envelope.ts";
import { listAnswer, pageAsked } from "./list-answer.ts";
import { Binds, FILTERS } from "./query/filters.ts";
import { Params, type RawQuery } from "./query/params.ts";
import type { RouteMatch } from "./query/route-match.ts";
import { createLookups, type Reader } from "./reader.ts";
import { accountInsight, createRecords, insightNotFound, notFound, resolveCompany } from "./records/records.ts";
import { type Feedback, parseFeedback, Refusal } from "./refusal.ts";
import { lastQuota, limitsAnswer, quotaOf, usageAnswer } from "./usage.ts";

// GET /v1/signals/counts: `all`, `accounts`, and one count per signal type (API.md, "Signal").

const countRow = z.object({
  type: z.string().nullable(),
  whole: z.boolean(),
  total: z.number(),
  accounts: z.number(),
});

/** JSON text of the counts; documented types without a signal count 0. */
export const signalCounts = async (reader: Reader, params: Params): Promise<string> => {
  const binds = new Binds();
  const conditions = FILTERS.signals(params, binds).map((condition) => `(${condition})`);
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const rows = await reader.query(
    `SELECT t.type, grouping(t.type) = 1 AS whole, count(*) AS total, count(DISTINCT t.account_id) AS accounts
     FROM main.signals AS t ${where} GROUP BY GROUPING SETS ((), (t.type)) ORDER BY t.type`,
    binds.values,
    countRow,
  );
  // A signal without a type is in a group of its own, whose type is NULL, too.
  const all = rows.find(({ whole }) => whole);
  return JSON.stringify({
    all: all?.total ?? 0,
    accounts: all?.accounts ?? 0,
    ...Object.fromEntries(SIGNAL_TYPES.map((type) => [type, 0])),
    ...Object.fromEntries(rows.flatMap(({ type, total }) => (type === null ? [] : [[type, total]]))),
  });
};

export interface ReplicaOptions {
  readonly database: Reader;
  readonly clock: Pick<Clock, "now">;
  /** Orders of its lists; only for a database that never changes. */
  readonly orders?: ListOrders;
  /** Its columns that hold values; only for a database that never changes. */
  readonly columns?: FilledColumns;
  /** `public`: the five rules for public API-only organizations apply. Called for every request. */
  readonly tier: () => "full" | "public";
  /** A larger `perPage` is refused with 400. Default 1000 (the document shows no maximum). */
  readonly maxPerPage?: number;
  /** The only organization the usage routes know; undefined: any. */
  readonly organizationId?: string;
  /** Quota for GET /v1/usage. Default: the latest reading in the warehouse. */
  readonly quota?: () => Quota;
  /** Receives feedback; its result becomes `data`. Default: 405, because a mirror takes no feedback. */
  readonly feedback?: (feedback: Feedback) => Promise<Readonly<Record<string, unknown>>>;
}

export interface ReplicaRequest {
  readonly match: RouteMatch;
  readonly query: RawQuery;
  /** Parsed JSON body of a POST. */
  readonly body?: unknown;
}

export interface Replica {
  /** The response of a 200. Throws `Refusal` for every other status. */
  answer(request: ReplicaRequest): Promise<Answer>;
}

const DEFAULT_MAX_PER_PAGE = 1000;

/** Without leading zeros, so that `007` and `7` are one id. */
const wholeNumber = (params: Params, name: string): string => BigInt(params.text(name) ?? "0").toString();

/** Responses of the workspace routes for a public API-only organization (API.md, "Access tiers", rules 1 to 4). */
const withoutWorkspace = (route: RouteSpec, params: Params, maxPerPage: number): Answer => {
  if (route.shape === "insight") return insightNotFound();
  if (route.shape === "counts") return dataAnswer("{}", true);
  if (route.shape === "record") throw notFound(route);
  return { ...dataAnswer("[]", true), paging: { ...pageAsked(params, maxPerPage), totalCount: 0 } };
};

const checkOrganization = (params: Params, known: string | undefined): void => {
  const asked = params.text("organizationId");
  if (asked !== undefined && known !== undefined && asked !== known) {
    throw new Refusal("not_found", "organization not found.");
  }
};

const sendFeedback = async (body: unknown, receive: ReplicaOptions["feedback"]): Promise<Answer> => {
  if (receive === undefined) throw new Refusal("method_not_allowed", "A mirror takes no feedback.");
  return dataAnswer(JSON.stringify(await receive(parseFeedback(body))), false);
};

export const createReplica = (options: ReplicaOptions): Replica => {
  const { database, clock, orders = null, columns = everyColumn, maxPerPage = DEFAULT_MAX_PER_PAGE } = options;
  const find = createLookups(database);
  const records = createRecords(database, find, columns);

  const list = async (route: RouteSpec, params: Params): Promise<Answer> => {
    if (route.tier === "public") await records.checkCompany(route, params.text("companyId") ?? "");
    return listAnswer(route, params, { reader: database, find, now: clock.now(), maxPerPage, orders, columns });
  };

  const record = async (route: RouteSpec, params: Params): Promise<Answer> => {
    const { table, pathParams } = route;
    const [{ name, type } = { name: "", type: "text" }] = pathParams;
    if (route.name === "resolveCompany") {
      return records.company(route, await resolveCompany(database, params.text(name) ?? ""), params);
    }
    if (table === null || table === "companies") return records.company(route, params.text(name), params);
    const id = type === "number" ? wholeNumber(params, name) : (params.text(name) ?? "");
    return records.workspaceRecord(route, table, id, params);
  };

  const usage = async (params: Params): Promise<Answer> => {
    const now = clock.now();
    return usageAnswer(database, params, now, options.quota?.() ?? quotaOf(await lastQuota(database), now));
  };

  const answer = async ({ match, query, body }: ReplicaRequest): Promise<Answer> => {
    const { route } = match;
    const params = Params.parse(route, match.path, query);
    if (route.tier === "full" && options.tier() === "public") return withoutWorkspace(route, params, maxPerPage);
    if (route.tier === "any") checkOrganization(params, options.organizationId);
    switch (route.shape) {
      case "insight":
        return accountInsight(database, params);
      case "list":
        return list(route, params);
      case "record":
        return record(route, params);
      case "counts":
        return dataAnswer(await signalCounts(database, params), true);
      case "usage":
        return usage(params);
      case "limits":
        return limitsAnswer(database);
      case "feedback":
        return sendFeedback(body, options.feedback);
      default: {
        const never: never = route.shape;
        return never;
      }
    }
  };

  return { answer };
};
