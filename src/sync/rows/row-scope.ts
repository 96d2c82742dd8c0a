// Row scope: the setting `scope` limits which rows of a list to mirror. Converts it to filters of the service (API.md, "Endpoints") and to
// a test of single rows. Pure.
import type { StreamName } from "../../catalog/streams.ts";
import { isScopedTable, type ScopedTable } from "../../catalog/tables.ts";
import type { RowScope } from "../../core/config/planning/scope-settings.ts";
import { isJsonObject, type JsonValue } from "../../core/json.ts";
import { literal } from "../../core/text/sql-text.ts";
import { filterDate, timeMs } from "../../core/time.ts";
import { type Outside, outsideCondition } from "../../warehouse/journal/scope-mark.ts";

/** Most ids in one request: its address must stay short. */
const MOST_IDS = 100;
/** The document does not say whether `afterDate` includes its day, or in which zone it begins. */
const DAY_MS = 86_400_000;

const earliestOf = (since: string): number => (timeMs(since) ?? 0) - DAY_MS;

interface Condition {
  readonly field: string;
  readonly column: string;
  readonly values: readonly string[];
  readonly param: string;
  readonly most: number;
}

const condition = (
  field: string,
  column: string,
  values: readonly string[] | undefined,
  param: string,
  most: number,
): readonly Condition[] => (values === undefined ? [] : [{ field, column, values, param, most }]);

const dated = (param: string, time: string | undefined): Readonly<Record<string, string>> => {
  const ms = timeMs(time ?? "");
  return ms === null ? {} : { [param]: filterDate(ms) };
};

interface RowChoice {
  readonly conditions: readonly Condition[];
  /** Filters without a test of single rows. */
  readonly filters: Readonly<Record<string, string>>;
  /** Rows with an earlier `date` are outside. */
  readonly since?: string | undefined;
}

const NOTHING: RowChoice = { conditions: [], filters: {} };

const CHOICES: Readonly<Record<ScopedTable, (scope: RowScope) => RowChoice>> = {
  accounts: ({ accounts: scope = {} }) => ({
    conditions: [
      ...condition("type", "type", scope.type, "type", 99),
      ...condition("priority", "priority", scope.priority, "priority", 1),
      ...condition("ownerId", "owner_id", scope.owner_id, "ownerId", 1),
      ...condition("id", "id", scope.ids, "ids", MOST_IDS),
    ],
    filters: {
      ...(scope.text === undefined ? {} : { textQuery: scope.text }),
      ...(scope.signals_of_type === undefined ? {} : { hasSignalsOfType: scope.signals_of_type.join(",") }),
      ...dated("hasSignalsAfterDate", scope.signals_after),
    },
  }),
  contacts: ({ contacts: scope = {} }) => ({
    conditions: [
      ...condition("type", "type", scope.type, "type", 99),
      ...condition("changeType", "change_type", scope.change_type, "changeType", 1),
    ],
    filters: {},
  }),
  signals: ({ signals: scope = {} }) => ({
    conditions: condition("type", "type", scope.type, "type", 99),
    filters: dated("afterDate", scope.since),
    since: scope.since,
  }),
};

const choiceOf = (scope: RowScope, stream: StreamName): RowChoice =>
  isScopedTable(stream) && scope[stream] !== undefined ? CHOICES[stream](scope) : NOTHING;

export const isScoped = (scope: RowScope, stream: StreamName): stream is ScopedTable => {
  const { conditions, filters } = choiceOf(scope, stream);
  return Object.keys(filters).length > 0 || conditions.length > 0;
};

/**
 * The filters of a stream's list; null: it is read whole, because it has no scope, or because the service takes fewer values
 * than the scope names.
 */
export const filtersOf = (scope: RowScope, stream: StreamName): Readonly<Record<string, string>> | null => {
  const { conditions, filters } = choiceOf(scope, stream);
  if (!isScoped(scope, stream) || conditions.some(({ values, most }) => values.length > most)) return null;
  const listed = Object.fromEntries(conditions.map(({ param, values }) => [param, values.join(",")]));
  return { ...listed, ...filters };
};

/** What of the scope decides on a stream's rows, as text that changes with it. */
export const scopeText = (scope: RowScope, stream: ScopedTable): string => JSON.stringify(scope[stream] ?? {});

/** True for a record that is certainly outside. What only the service can judge counts as inside. */
export const isOutside = (scope: RowScope, stream: StreamName, record: JsonValue): boolean => {
  if (!isJsonObject(record)) return false;
  const { conditions, since } = choiceOf(scope, stream);
  const outside = conditions.some(({ field, values }) => {
    const value = record[field];
    return value !== undefined && (value === null || !values.includes(String(value)));
  });
  if (outside || since === undefined) return outside;
  const at = typeof record.date === "string" ? timeMs(record.date) : null;
  return at !== null && at < earliestOf(since);
};

/** Which rows of the stream's table are certainly outside; null: none is. */
export const outsideOf = (scope: RowScope, stream: ScopedTable): Outside | null => {
  const { conditions, since } = choiceOf(scope, stream);
  if (conditions.length === 0 && since === undefined) return null;
  return {
    noneOf: conditions.map(({ column, values }) => ({ column, values })),
    before: since === undefined ? null : new Date(earliestOf(since)).toISOString(),
  };
};

/** A query for the ids, as text, of signals whose full content the scope asks for. */
export const contentIds = (scope: RowScope): string => {
  const { type, accounts, since } = scope.content?.["signals.fullContent"] ?? {};
  const among = (column: string, values: readonly string[] | undefined) =>
    values === undefined ? [] : [`CAST(t.${column} AS VARCHAR) IN (${values.map(literal).join(", ")})`];
  const wanted = [
    ...among("type", type),
    ...among("account_id", accounts),
    ...(since === undefined ? [] : [`t."date" >= TIMESTAMPTZ ${literal(since)}`]),
  ];
  return [idsInScope(scope, "signals"), ...wanted].join(" AND ");
};

/** A query for the ids, as text, of rows inside the scope: rows that this run received are judged by their values. */
export const idsInScope = (scope: RowScope, stream: ScopedTable): string => {
  const outside = outsideOf(scope, stream);
  return `SELECT CAST(t.id AS VARCHAR) FROM main.${stream} AS t WHERE t._in_scope${outside === null ? "" : ` AND NOT ${outsideCondition(outside)}`}`;
};
