// Quirks: deviations of real services from their documents, for tests and demonstrations. Each changes the request
// before it is handled, or the response before it is sent.

import type { RouteSpec } from "../catalog/endpoints.ts";
import type { IncludedShape } from "../replica/envelope.ts";
import type { PageSlice } from "../replica/list-answer.ts";
import type { RawQuery } from "../replica/query/params.ts";
import { Refusal } from "../replica/refusal.ts";

export interface Quirks {
  /**
   * Never returns more rows than this, without an error. `offsets`: pages are cut at the requested page size (rows in
   * between are unreachable) or at the served one; `meta`: which of the two `meta.perPage` shows.
   */
  readonly silentClamp?: number | { readonly rows: number; readonly offsets: Size; readonly meta: Size };
  /** Lists have their default order, whatever `sortBy` is. */
  readonly ignoreSort?: boolean;
  /** 400 for any `sortBy`, or for these fields. */
  readonly refuseSort?: boolean | readonly string[];
  /** How related records of lists are embedded. */
  readonly includedShape?: IncludedShape;
  /** Numbers in `data` are strings. */
  readonly numberAsString?: boolean;
  /** Members of `meta` that are left out, e.g. `totalCount`. */
  readonly omitMeta?: readonly string[];
  /** Fields of records that are left out, e.g. `companyId`. */
  readonly omitFields?: readonly string[];
  /** Additional members of every record. */
  readonly extraFields?: Readonly<Record<string, unknown>>;
  /** No `usage` block anywhere. */
  readonly omitUsage?: boolean;
  /** 400 for query parameters that the route does not have. */
  readonly strictQuery?: boolean;
  /** Body of refusals. */
  readonly errorBody?: "json" | "html" | "empty";
}

type Size = "asked" | "served";

/** Query as the quirky service reads it. Throws 400 refusals. */
export const quirkyQuery = (quirks: Quirks, route: RouteSpec, query: RawQuery): RawQuery => {
  const unknown = Object.keys(query).find((name) => !route.query.some((param) => param.name === name));
  if (quirks.strictQuery === true && unknown !== undefined) {
    throw new Refusal("bad_request", `${unknown} is no parameter of this route.`);
  }
  const { sortBy } = query;
  const { refuseSort } = quirks;
  if (sortBy !== undefined && (refuseSort === true || (Array.isArray(refuseSort) && refuseSort.includes(sortBy)))) {
    throw new Refusal("bad_request", `Sorting by ${sortBy} is not supported.`);
  }
  if (quirks.ignoreSort !== true) return query;
  const { sortBy: _, sortOrder: __, ...rest } = query;
  return rest;
};

/** Position of pages. */
export const quirkySlice =
  (quirks: Quirks) =>
  (page: number, perPage: number): PageSlice => {
    const clamp = quirks.silentClamp;
    if (clamp === undefined) return { offset: (page - 1) * perPage, limit: perPage, perPage };
    const { rows, offsets, meta } =
      typeof clamp === "number" ? ({ rows: clamp, offsets: "asked", meta: "asked" } as const) : clamp;
    const served = Math.min(perPage, rows);
    return {
      offset: (page - 1) * (offsets === "asked" ? perPage : served),
      limit: served,
      perPage: meta === "asked" ? perPage : served,
    };
  };

type Members = Record<string, unknown>;

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Strings and numbers of a JSON text; strings are matched so that digits inside them stay unchanged. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Marks a number during `JSON.parse` as a string, so that no digit is rounded. */
const MARK = "\u0001";

const parseExactly = (text: string): unknown =>
  JSON.parse(text.replace(TOKENS, (token) => (token.startsWith('"') ? token : `"\\u0001${token}"`)));

const stringifyExactly = (value: unknown): string =>
  JSON.stringify(value).replace(/"\\u0001([^"]*)"/g, (_, digits: string) => digits);

const numbersAsStrings = (value: unknown): unknown => {
  if (typeof value === "string") return value.startsWith(MARK) ? value.slice(MARK.length) : value;
  if (Array.isArray(value)) return value.map(numbersAsStrings);
  if (!isMembers(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, numbersAsStrings(member)]));
};

const without = (members: Members, names: readonly string[]): Members =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));

/** Body of a 200 as the quirky service writes it. Integers keep every digit. */
export const quirkyBody = (quirks: Quirks, body: string): string => {
  const { numberAsString, omitMeta = [], omitFields = [], extraFields, omitUsage } = quirks;
  const touchesRecords = numberAsString === true || omitFields.length > 0 || extraFields !== undefined;
  if (!touchesRecords && omitMeta.length === 0 && omitUsage !== true) return body;
  const envelope = parseExactly(body);
  if (!isMembers(envelope)) return body;
  const record = (value: unknown): unknown => {
    if (!isMembers(value)) return value;
    const kept = { ...without(value, omitFields), ...extraFields };
    return numberAsString === true ? numbersAsStrings(kept) : kept;
  };
  const { data, meta } = envelope;
  const changed = {
    ...without(envelope, omitUsage === true ? ["usage"] : []),
    ...(data === undefined ? {} : { data: Array.isArray(data) ? data.map(record) : record(data) }),
    ...(isMembers(meta) ? { meta: without(meta, omitMeta) } : {}),
  };
  return stringifyExactly(changed);
};
