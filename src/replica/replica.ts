// The `/v1` routes of API.md over a warehouse: the sandbox serves a generated one, `duckmirror serve` the user's
// mirror.
// Independent of any HTTP server: requests and responses are values (envelope.ts writes the text).
import { z } from "zod";
import type { TableName } from "../catalog/tables.ts";
import type { Clock } from "../core/clock.ts";
import { accountInsight, insightNotFound } from "./account-insights.ts";
import { resolveCompany } from "./companies.ts";
import { type Answer, dataAnswer, type Quota } from "./envelope.ts";
import { type Feedback, parseFeedback } from "./feedback.ts";
import { type Cut, listAnswer, pageAsked } from "./lists.ts";
import { createLookups } from "./lookups.ts";
import { chooseFields } from "./query/field-choice.ts";
import { Binds } from "./query/filters.ts";
import { Params, type RawQuery } from "./query/params.ts";
import type { RouteMatch } from "./query/route-match.ts";
import { idIn, type Reader } from "./reader.ts";
import { Refusal } from "./refusal.ts";
import { LINK_COLUMNS, readAccountLists, readLatestCall, readLinked } from "./related.ts";
import type { RouteSpec } from "./routes.ts";
import { signalCounts } from "./signal-counts.ts";
import { lastQuota, limitsAnswer, quotaOf, usageAnswer } from "./usage.ts";

export interface ReplicaOptions {
  readonly database: Reader;
  readonly clock: Pick<Clock, "now">;
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
  /** Cuts pages differently from the document (fault injection). */
  readonly cut?: (page: number, perPage: number) => Cut;
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

const notFound = (route: RouteSpec) => new Refusal("not_found", `${route.notFound ?? "not found"}.`);

/** Without leading zeros, so that `007` and `7` are one id. */
const wholeNumber = (params: Params, name: string): string => BigInt(params.text(name) ?? "0").toString();

export const createReplica = (options: ReplicaOptions): Replica => {
  const { database, clock, maxPerPage = DEFAULT_MAX_PER_PAGE } = options;
  const cut = options.cut ?? ((page, perPage) => ({ offset: (page - 1) * perPage, limit: perPage, perPage }));

  const find = createLookups(database);

  const list = (route: RouteSpec, params: Params): Promise<Answer> =>
    listAnswer(route, params, { reader: database, now: clock.now(), maxPerPage, cut });

  const record = async (route: RouteSpec, table: TableName, id: string, params: Params): Promise<Answer> => {
    const { fields, named } = chooseFields(table, params, true);
    const found = await find({ table, fields, extra: !named }, id);
    if (found === undefined) throw notFound(route);
    return dataAnswer(found.object, route.usageBlock);
  };

  const linkOf = async (table: TableName, id: string, column: string): Promise<readonly string[]> => {
    const binds = new Binds();
    const rows = await database.query(
      `SELECT CAST(t."${column}" AS VARCHAR) AS link FROM main."${table}" AS t WHERE ${idIn(table, [id])(binds)}`,
      binds.values,
      z.object({ link: z.string().nullable() }),
    );
    return rows.flatMap(({ link }) => (link === null ? [] : [link]));
  };

  const workspaceRecord = async (route: RouteSpec, table: TableName, id: string, params: Params): Promise<Answer> => {
    const answer = await record(route, table, id, params);
    const linked = params.list("include").flatMap((include) => {
      const column = LINK_COLUMNS[include];
      return column === undefined ? [] : [{ include, column }];
    });
    const embedded = await Promise.all(
      linked.map(async ({ include, column }) =>
        readLinked(database, include, await linkOf(table, id, column), "record"),
      ),
    );
    const lists = table === "accounts" ? await readAccountLists(database, id, params) : [];
    return { ...answer, included: [...embedded, ...lists] };
  };

  const company = async (route: RouteSpec, id: string | undefined, params: Params): Promise<Answer> => {
    if (id === undefined) throw notFound(route);
    const answer = await record(route, "companies", id, params);
    return { ...answer, included: await readLatestCall(database, id, params.list("include")) };
  };

  const companyList = async (route: RouteSpec, params: Params): Promise<Answer> => {
    const known = await find({ table: "companies", fields: [], extra: false }, params.text("companyId") ?? "");
    if (known === undefined) throw notFound(route);
    return list(route, params);
  };

  /** Responses of the workspace routes for a public API-only organization (API.md, "Access tiers", rules 1 to 4). */
  const withoutWorkspace = (route: RouteSpec, params: Params): Answer => {
    if (route.shape === "insight") return insightNotFound();
    if (route.shape === "counts") return dataAnswer("{}", true);
    if (route.shape === "record") throw notFound(route);
    return { ...dataAnswer("[]", true), paging: { ...pageAsked(params, maxPerPage), totalCount: 0 } };
  };

  const checkOrganization = (params: Params): void => {
    const asked = params.text("organizationId");
    if (asked !== undefined && options.organizationId !== undefined && asked !== options.organizationId) {
      throw new Refusal("not_found", "organization not found.");
    }
  };

  const sendFeedback = async (body: unknown): Promise<Answer> => {
    if (options.feedback === undefined) throw new Refusal("method_not_allowed", "A mirror takes no feedback.");
    return dataAnswer(JSON.stringify(await options.feedback(parseFeedback(body))), false);
  };

  const usage = async (params: Params): Promise<Answer> => {
    const now = clock.now();
    return usageAnswer(database, params, now, options.quota?.() ?? quotaOf(await lastQuota(database), now));
  };

  const answer = async ({ match, query, body }: ReplicaRequest): Promise<Answer> => {
    const { route } = match;
    const params = Params.parse(route, match.path, query);
    if (route.tier === "full" && options.tier() === "public") return withoutWorkspace(route, params);
    if (route.tier === "any") checkOrganization(params);
    switch (route.name) {
      case "accountInsight":
        return accountInsight(database, params);
      case "accounts":
      case "contacts":
      case "signals":
      case "usageRequests":
        return list(route, params);
      case "account":
        return workspaceRecord(route, "accounts", wholeNumber(params, "accountId"), params);
      case "contact":
        return workspaceRecord(route, "contacts", params.text("contactId") ?? "", params);
      case "signal":
        return workspaceRecord(route, "signals", wholeNumber(params, "signalId"), params);
      case "signalCounts":
        return dataAnswer(await signalCounts(database, params), true);
      case "companyByInput":
        return company(route, await resolveCompany(database, params.text("companyInputId") ?? ""), params);
      case "company":
        return company(route, params.text("companyId"), params);
      case "newsArticles":
      case "jobOpenings":
      case "earningsCalls":
      case "filings":
        return companyList(route, params);
      case "usage":
        return usage(params);
      case "usageLimits":
        return limitsAnswer(database);
      case "feedback":
        return sendFeedback(body);
      default: {
        const never: never = route.name;
        return never;
      }
    }
  };

  return { answer };
};
