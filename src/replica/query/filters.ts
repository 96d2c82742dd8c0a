// Filters of the list routes as SQL conditions. PURE: identifiers are literals of this file, text is always bound.
// Values of enumerated fields are not checked: a mirror may hold values that API.md does not name.
import type { Params } from "./params.ts";

/** Positional values of one statement; `bind` returns the placeholder. */
export class Binds {
  readonly values: string[] = [];

  bind(value: string): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

export type Conditions = (params: Params, binds: Binds) => readonly string[];

/**
 * Ids as literals, because DuckDB searches a bound list for every row. They are rewritten from integers, so no text
 * of the request gets into the statement.
 */
const idList = (column: string, ids: readonly string[]): string =>
  ids.length === 0 ? "false" : `${column} IN (${ids.map((id) => `${BigInt(id)}::BIGINT`).join(", ")})`;

const isOneOf = (column: string, values: readonly string[], binds: Binds): string =>
  `list_contains(string_split(${binds.bind(values.join(","))}, ','), ${column})`;

/** Every word of the query occurs in the text; case does not matter. */
const hasWords = (text: string, query: string, binds: Binds): readonly string[] =>
  query
    .trim()
    .split(/\s+/)
    .filter((word) => word !== "")
    .map((word) => `contains(lower(${text}), lower(${binds.bind(word)}))`);

/** A condition that a parameter of one value asks for; none without it. `sql` gets the placeholder of the value. */
const where =
  (name: string, sql: (bound: string) => string): Conditions =>
  (params, binds) => {
    const value = params.text(name);
    return value === undefined ? [] : [sql(binds.bind(value))];
  };

const equals = (name: string, column: string) => where(name, (bound) => `${column} = ${bound}`);
const after = (name: string, column: string) => where(name, (bound) => `${column} > CAST(${bound} AS TIMESTAMPTZ)`);
const before = (name: string, column: string) => where(name, (bound) => `${column} < CAST(${bound} AS TIMESTAMPTZ)`);
const lowercase = (name: string, column: string) => where(name, (bound) => `lower(${column}) = lower(${bound})`);

const ids =
  (name: string, column: string): Conditions =>
  (params) => {
    const values = params.ids(name);
    return values === undefined ? [] : [idList(column, values)];
  };

const anyOf =
  (name: string, column: string): Conditions =>
  (params, binds) =>
    params.has(name) ? [isOneOf(column, params.list(name), binds)] : [];

const words =
  (name: string, text: string): Conditions =>
  (params, binds) =>
    hasWords(text, params.text(name) ?? "", binds);

/** `textQuery` on accounts is one phrase: a name may hold several words. */
const phrase =
  (name: string, ...columns: string[]): Conditions =>
  (params, binds) => {
    const value = params.text(name)?.trim();
    if (value === undefined || value === "") return [];
    const bound = binds.bind(value);
    return [`(${columns.map((column) => `contains(lower(${column}), lower(${bound}))`).join(" OR ")})`];
  };

/** Both parameters describe the same signal: one of these types, after this date. */
const hasSignals: Conditions = (params, binds) => {
  const type = anyOf("hasSignalsOfType", "s.type")(params, binds);
  const date = after("hasSignalsAfterDate", "s.date")(params, binds);
  const conditions = [...type, ...date];
  if (conditions.length === 0) return [];
  return [`EXISTS (FROM main.signals AS s WHERE s.account_id = t.id AND ${conditions.join(" AND ")})`];
};

const all =
  (...conditions: readonly Conditions[]): Conditions =>
  (params, binds) =>
    conditions.flatMap((condition) => condition(params, binds));

/** Conditions on the listed table, whose alias is `t`. */
export const FILTERS = {
  accounts: all(
    phrase("textQuery", "t.name", "t.domain"),
    ids("ids", "t.id"),
    lowercase("domain", "t.domain"),
    equals("companyId", "t.company_id"),
    equals("ownerId", "t.owner_id"),
    equals("type", "t.type"),
    equals("priority", "CAST(t.priority AS VARCHAR)"),
    hasSignals,
  ),
  contacts: all(
    ids("accountId", "t.account_id"),
    words(
      "textQuery",
      "concat_ws(' ', t.first_name, t.last_name, t.current_title, t.current_company_name, t.location)",
    ),
    words("currentTitleTextQuery", "t.current_title"),
    equals("type", "t.type"),
    equals("changeType", "t.change_type"),
    before("isInCurrentRoleBeforeDate", "t.in_current_role_since"),
    after("isInCurrentRoleAfterDate", "t.in_current_role_since"),
    before("lastChangeDetectedBefore", "t.last_change_detected_on"),
    after("lastChangeDetectedAfter", "t.last_change_detected_on"),
  ),
  signals: all(
    ids("accountId", "t.account_id"),
    anyOf("type", "t.type"),
    words("textQuery", "concat_ws(' ', t.headline, t.description, t.full_content)"),
    after("afterDate", "t.date"),
    before("beforeDate", "t.date"),
  ),
} as const satisfies Record<string, Conditions>;
