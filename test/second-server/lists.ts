// One page of a list: filters, order, ties, clamps, fields; every doubt decided by the service's traits.
import type { Fields, Json } from "./json-text.ts";
import { hashOf } from "./random.ts";
import type { Field } from "./resources.ts";
import { estimated } from "./strangers.ts";
import { msOf } from "./times.ts";
import type { Order, Traits } from "./traits.ts";
import type { Row } from "./world.ts";

export interface ListRoute {
  readonly fields: readonly Field[];
  readonly rows: readonly Row[];
  /** Default `sortBy`; null: the route does not sort. */
  readonly sortBy: string | null;
  readonly largest: number;
  /** Fields that a list holds only when named, or never. */
  readonly withheld: Readonly<Record<string, "named" | "never">>;
}

export type Page =
  | { readonly ok: true; readonly rows: readonly Row[]; readonly meta: Fields }
  | { readonly ok: false; readonly status: number; readonly why: string };

const compareValues = (a: Json, b: Json, kind: Field["kind"]): number => {
  if (typeof a === "string" && typeof b === "string") {
    if (kind === "time" || kind === "day") return (msOf(a) ?? 0) - (msOf(b) ?? 0);
    if (kind === "text") return a < b ? -1 : a > b ? 1 : 0;
  }
  if (kind === "whole") {
    const [left, right] = [BigInt(String(a)), BigInt(String(b))];
    return left < right ? -1 : left > right ? 1 : 0;
  }
  return Number(a) - Number(b);
};

/** Rows in an order that nobody asked for. `version`: grows with every change of the data. */
export const inOrder = (rows: readonly Row[], order: Order, salt: string, version: number): readonly Row[] => {
  const ranks = new Map(
    rows.map((row) => [
      row,
      order === "oldest-first" || order === "newest-first"
        ? row.born
        : hashOf(`${salt}/${order === "reshuffled" ? version : ""}/${row.key}`),
    ]),
  );
  const sorted = [...rows].sort((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0));
  return order === "newest-first" ? sorted.reverse() : sorted;
};

const isMissing = (value: Json | undefined): boolean => value === undefined || value === null;

const sorted = (route: ListRoute, query: URLSearchParams, traits: Traits, version: number): readonly Row[] | null => {
  const { orders, seed } = traits;
  if (route.sortBy === null) return inOrder(route.rows, orders.unsorted, String(seed), version);
  const wanted = query.get("sortBy") ?? route.sortBy;
  const can = route.fields.some(({ name }) => name === wanted) && !orders.unsortable.includes(wanted);
  if (!can && orders.unsortableAnswer === "refused") return null;
  const by = can ? wanted : route.sortBy;
  const kind = route.fields.find(({ name }) => name === by)?.kind ?? "text";
  const sign = query.get("sortOrder") === "asc" ? 1 : -1;
  const tied = inOrder(route.rows, orders.ties, `${seed}/ties`, version);
  return [...tied].sort((a, b) => {
    const [left, right] = [a.fields[by], b.fields[by]];
    if (isMissing(left) || isMissing(right)) {
      const missing = Number(isMissing(left)) - Number(isMissing(right));
      return orders.nullsFirst ? -missing : missing;
    }
    return sign * compareValues(left ?? null, right ?? null, kind);
  });
};

const DEFAULT_SIZE = 20;
const SIZES = [10, DEFAULT_SIZE, 50, 100];

const pageSize = (asked: string | null, largest: number, traits: Traits): number | null => {
  const size = asked === null ? DEFAULT_SIZE : Number(asked);
  if (!Number.isInteger(size) || size < 1) return null;
  const { sizes } = traits.pages;
  if (size <= largest && (sizes === null || size === largest || SIZES.includes(size))) return size;
  if (size <= largest) return sizes === "others-refused" ? null : Math.min(DEFAULT_SIZE, largest);
  return traits.pages.tooLarge.startsWith("refused") ? null : largest;
};

/** One page of a list, or why there is none. `answer`: names this answer among all. */
export const pageOf = (
  route: ListRoute,
  query: URLSearchParams,
  traits: Traits,
  { version, answer }: { readonly version: number; readonly answer: string },
): Page => {
  const { pages } = traits;
  const largest = Math.max(route.largest, 1);
  const size = pageSize(query.get("perPage"), largest, traits);
  if (size === null) {
    const status = pages.tooLarge === "refused-unprocessable" ? 422 : 400;
    return { ok: false, status, why: pages.namesMaximum ? `perPage must not be greater than ${largest}` : "perPage" };
  }
  const page = Number(query.get("page") ?? 1);
  if (!Number.isInteger(page) || page < 1) return { ok: false, status: 400, why: "page" };
  const rows = sorted(route, query, traits, version);
  if (rows === null) return { ok: false, status: 400, why: "cannot sort by this field" };
  const from = (page - 1) * size;
  const { window } = traits.strangers;
  const most = window?.rows ?? Infinity;
  if (page > 1 && from + size > most) return { ok: false, status: 400, why: `Result window is too large (${most})` };
  const counted = window?.counted === false ? Math.min(rows.length, most) : rows.length;
  const count = estimated(counted, traits.strangers, `${traits.seed}/${answer}`);
  const totalPages = Math.max(Math.ceil(count / size), pages.pagesOfNothing);
  if (from >= rows.length && page > 1 && pages.beyondEnd === "refused") {
    return { ok: false, status: 400, why: "no such page" };
  }
  const said = pages.tooLarge === "clamped-unsaid" ? Number(query.get("perPage") ?? 20) : size;
  const meta = { page, perPage: said, ...(pages.counts ? { totalCount: count, totalPages } : {}) };
  return { ok: true, rows: rows.slice(from, Math.min(from + size, most)), meta };
};

/** The record as one answer holds it: without what is opt-in or withheld, and only with what was named. */
export const shown = (
  record: Fields,
  fields: readonly Field[],
  query: URLSearchParams,
  traits: Traits,
  withheld: ListRoute["withheld"],
): Fields => {
  const named =
    query
      .get("onlyWithFields")
      ?.split(",")
      .map((name) => name.trim()) ?? null;
  const known = new Map(fields.map((field) => [field.name, field]));
  const rules = new Map(Object.entries(withheld));
  return Object.fromEntries(
    Object.entries(record).filter(([name]) => {
      if (rules.get(name) === "never") return false;
      if (named !== null) return named.includes(name) || (name === "id" && traits.records.onlyFieldsKeepsId);
      return known.get(name)?.optIn !== true && !rules.has(name);
    }),
  );
};

/** A filter by date: `after` and `before` as query values, null where not asked for. */
const within = (value: Json | undefined, after: string | null, before: string | null, traits: Traits): boolean => {
  if (after === null && before === null) return true;
  const { filtersInclude, filtersByDay } = traits.orders;
  const round = (ms: number) => (filtersByDay ? Math.floor(ms / 86_400_000) : ms);
  const at = typeof value === "string" ? msOf(value) : null;
  if (at === null) return false;
  const holds = (bound: string | null, sign: number) => {
    const limit = bound === null ? null : msOf(bound);
    if (limit === null) return true;
    const beyond = sign * (round(at) - round(limit));
    return filtersInclude ? beyond >= 0 : beyond > 0;
  };
  return holds(after, 1) && holds(before, -1);
};

/** Query parameters after and before, and the field. */
export type Dates = readonly (readonly [after: string, before: string, field: string])[];

export const filtered = (rows: Iterable<Row>, dates: Dates, query: URLSearchParams, traits: Traits): Row[] =>
  [...rows].filter(({ fields }) =>
    dates.every(([after, before, field]) => within(fields[field], query.get(after), query.get(before), traits)),
  );
