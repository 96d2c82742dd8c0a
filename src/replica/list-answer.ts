// Responses of the replica's list routes (API.md, "Endpoints"): counts the list's rows and finds the page's keys by one statement, unless
// the list's order is cached (cache/list-cache.ts), then reads the records by key and the related ones.
import { z } from "zod";
import { hasUsage, type RouteSpec } from "../catalog/endpoints.ts";
import { type TableName, tableSpec } from "../catalog/tables.ts";
import type { FilledColumns, ListOrders, PageKeys } from "./cache/list-cache.ts";
import { type Answer, dataAnswer } from "./envelope.ts";
import { Binds, type Conditions, FILTERS } from "./query/filters.ts";
import {
  hasKeyOfOneColumn,
  keysStatement,
  type ListRequest,
  nearRows,
  pageStatement,
  placedStatement,
  type RecordText,
} from "./query/list-query.ts";
import { chooseFields, type Params } from "./query/params.ts";
import { type FindRecords, type Reader, readStatement } from "./reader.ts";
import { Refusal } from "./refusal.ts";
import { LINK_COLUMNS, readLinked } from "./related.ts";
import { inTimeSpan, timeSpanOf } from "./usage.ts";

export interface ListContext {
  readonly reader: Reader;
  readonly find: FindRecords;
  /** ms since the epoch. */
  readonly now: number;
  readonly maxPerPage: number;
  readonly orders: ListOrders | null;
  readonly columns: FilledColumns;
}

interface ListSpec {
  readonly table: TableName;
  /** Order of a route that has no sortBy: newest first. */
  readonly order?: string;
  readonly filters?: Conditions;
  /** Parameter that filters by the ids of a column, and that column: the order of one id's list may be in memory. */
  readonly per?: { readonly param: string; readonly column: string };
}

/** Lists whose route can sort. */
const SORTED: Readonly<Partial<Record<TableName, ListSpec>>> = {
  accounts: { table: "accounts", filters: FILTERS.accounts },
  contacts: { table: "contacts", filters: FILTERS.contacts },
  signals: { table: "signals", filters: FILTERS.signals, per: { param: "accountId", column: "account_id" } },
};

const listSpec = ({ name, table }: RouteSpec): ListSpec => {
  if (table === null) throw new TypeError(`${name} is no list`);
  const sorted = SORTED[table];
  if (sorted !== undefined) return sorted;
  const { fields, datedBy, key } = tableSpec(table);
  const order = fields.find(({ column }) => column === (datedBy ?? key.at(-1)))?.name;
  return { table, ...(order === undefined ? {} : { order }) };
};

/** A page of a list. */
interface Page {
  readonly total: number;
  /** The inside of a JSON array. */
  readonly rows: string;
  /** Distinct linked ids per link column. */
  readonly links: readonly (readonly string[])[];
}

/** Most reads of one page. It is read again when records were removed between its two statements. */
const MOST_READS = 5;

const keysRow = z.object({ total: z.number(), keys: z.array(z.string()) });

const findKeys = async (reader: Reader, request: ListRequest): Promise<PageKeys> => {
  const wanted = keysStatement(request);
  const [found] = await reader.query(wanted.sql, wanted.values, keysRow);
  return found ?? { total: 0, keys: [] };
};

/** The page's keys, if it is one of a list whose order is known: of all rows, or of those with one id. */
const knownKeys = (
  { per }: ListSpec,
  params: Params,
  request: ListRequest,
  orders: ListOrders | null,
): PageKeys | undefined => {
  if (orders === null) return undefined;
  const { conditions, offset, limit } = request;
  if (conditions.length === 0) return orders.page({ ...request, per: null }, "", offset, limit);
  // A parameter is one condition, so the only one is that of the ids.
  const [id, ...others] = (per === undefined ? undefined : params.ids(per.param)) ?? [];
  if (per === undefined || id === undefined || others.length > 0 || conditions.length > 1) return undefined;
  return orders.page({ ...request, per: per.column }, BigInt(id).toString(), offset, limit);
};

type Records = ReadonlyMap<string, RecordText>;

const readRecords = async (
  { reader, find }: ListContext,
  request: ListRequest,
  { keys, places }: Pick<PageKeys, "keys" | "places">,
): Promise<Records> => {
  // With a key of two columns, only the conditions hold the other one.
  const near = places === undefined ? null : nearRows(keys, places);
  const statement = !hasKeyOfOneColumn(request.table)
    ? pageStatement(request, keys)
    : near !== null && near.near !== null
      ? placedStatement(request, near)
      : null;
  if (statement === null) return find(request, keys);
  return new Map((await readStatement(reader, statement)).map((record) => [record.key, record]));
};

/** Reads keys first, from narrow columns, then records by the key's index: a sixth of the time at a million rows. */
const readPage = async (context: ListContext, request: ListRequest, known: PageKeys | undefined): Promise<Page> => {
  for (let read = 1; ; read++) {
    const { total, keys, places } = known ?? (await findKeys(context.reader, request));
    if (keys.length === 0) return { total, rows: "", links: request.links.map(() => []) };
    const byKey = await readRecords(context, request, read === 1 && places !== undefined ? { keys, places } : { keys });
    const page = keys.flatMap((key) => byKey.get(key) ?? []);
    if (page.length < keys.length && read < MOST_READS) continue;
    const links = request.links.map((_, index) => [...new Set(page.flatMap((row) => row.links[index] ?? []))]);
    return { total, rows: page.map(({ object }) => object).join(","), links };
  }
};

const sortField = (spec: ListSpec, params: Params) => {
  const name = params.text("sortBy") ?? spec.order;
  const field = tableSpec(spec.table).fields.find((candidate) => candidate.name === name);
  if (field === undefined) throw new Refusal("bad_request", `sortBy names the unknown field "${name}".`);
  return field;
};

/** Requested page and page size. Throws a 400 refusal above the maximum. */
export const pageAsked = (params: Params, maxPerPage: number): { page: number; perPage: number } => {
  const perPage = params.number("perPage");
  if (perPage > maxPerPage) throw new Refusal("bad_request", `perPage must be at most ${maxPerPage}.`);
  return { page: params.number("page"), perPage };
};

/** Response of a list route. Throws 400 refusals for parameters that do not fit the resource. */
export const listAnswer = async (route: RouteSpec, params: Params, context: ListContext): Promise<Answer> => {
  const { reader, now } = context;
  const spec = listSpec(route);
  const { page, perPage } = pageAsked(params, context.maxPerPage);
  const { fields, named } = chooseFields(spec.table, params, false);
  const binds = new Binds();
  const conditions = [...(spec.filters?.(params, binds) ?? [])];
  if (route.tier === "public") conditions.push(`t.company_id = ${binds.bind(params.text("companyId") ?? "")}`);
  if (route.tier === "any") conditions.push(...inTimeSpan(timeSpanOf(params, now), binds));
  const includes = params.list("include");
  const request: ListRequest = context.columns.of({
    table: spec.table,
    fields,
    extra: !named,
    conditions,
    binds,
    sortBy: sortField(spec, params),
    sortOrder: params.text("sortOrder") === "asc" ? "asc" : "desc",
    limit: perPage,
    offset: Math.min((page - 1) * perPage, Number.MAX_SAFE_INTEGER),
    links: includes.flatMap((include) => LINK_COLUMNS[include] ?? []),
  });
  const found = await readPage(context, request, knownKeys(spec, params, request, context.orders));
  const included = await Promise.all(
    includes.map((include, index) => readLinked(reader, include, found.links[index] ?? [], "list")),
  );
  return {
    ...dataAnswer(`[${found.rows}]`, hasUsage(route)),
    included,
    paging: { page, perPage, totalCount: found.total },
  };
};
