// Marks of the row scope (column `_in_scope`): their form in the journal, and the SQL that sets them. A mark describes rows by the content
// of the mirror, not by ids: a replay has the same content then, and the journal names no contact. Pure.
import { z } from "zod";
import { isCompanyTable, isScopedTable, TABLE_NAMES, type TableName } from "../../catalog/tables.ts";
import { literal, quoted } from "../../core/text/sql-text.ts";

const scopedTable = z.string().refine(isScopedTable);

const outsideSchema = z.object({
  /** A row is outside if a column holds none of the values. */
  noneOf: z.array(z.object({ column: z.string().regex(/^\w+$/), values: z.array(z.string()).readonly() })).readonly(),
  /** A row is outside if its date is earlier, ISO 8601; null: any date is inside. */
  before: z.string().nullable(),
});

/** What the setting `scope` says about rows that are certainly outside. */
export type Outside = z.output<typeof outsideSchema>;

export const scopeMarkSchema = z.discriminatedUnion("of", [
  /** Rows of a list that are certainly outside the setting (inside: false), or all others (inside: true). */
  z.object({ of: z.literal("setting"), table: scopedTable, inside: z.boolean(), outside: outsideSchema.nullable() }),
  /** Rows of a list that a walk returned (inside: true), or all others (inside: false). */
  z.object({ of: z.literal("walk"), table: scopedTable, inside: z.boolean(), walkId: z.string() }),
  /** Rows that follow accounts and followed inputs. */
  z.object({ of: z.literal("followers") }),
]);

/** One marking of rows as inside or outside the row scope. */
export type ScopeMark = z.output<typeof scopeMarkSchema>;

/** Condition on alias `t`: the row is certainly outside. */
export const outsideCondition = ({ noneOf, before }: Outside): string => {
  const columns = noneOf.map(
    ({ column, values }) => `coalesce(CAST(t.${column} AS VARCHAR) NOT IN (${values.map(literal).join(", ")}), true)`,
  );
  const all = [...columns, ...(before === null ? [] : [`t."date" < TIMESTAMPTZ ${literal(before)}`])];
  return `(${all.join(" OR ")}) IS TRUE`;
};

/** A query for the ids of companies that syncs keep up to date. */
const FOLLOWED = `SELECT company_id FROM main.accounts WHERE _in_scope AND company_id IS NOT NULL
  UNION
  SELECT company_id FROM main.company_inputs
  WHERE company_id IS NOT NULL AND (
    NOT EXISTS (FROM sync.capabilities WHERE name = 'wanted')
    OR input IN (SELECT unnest(CAST(value -> '$.inputs' AS VARCHAR[])) FROM sync.capabilities WHERE name = 'wanted')
  )`;

/** The rows of one table whose mark changes. */
interface Marking {
  readonly table: TableName;
  readonly value: string;
  /** Condition on alias `t`. */
  readonly where: string;
}

const following = (table: TableName, inside: string): Marking => ({
  table,
  value: "NOT t._in_scope",
  where: `t._in_scope <> (${inside})`,
});

const FOLLOWERS: readonly Marking[] = [
  following("account_insights", "t.account_id IN (SELECT id FROM main.accounts WHERE _in_scope)"),
  following("companies", `t.id IN (${FOLLOWED})`),
  ...TABLE_NAMES.filter(isCompanyTable).map((table) => following(table, `t.company_id IN (${FOLLOWED})`)),
];

const chosenBy = (mark: Exclude<ScopeMark, { of: "followers" }>): string => {
  const not = (isNegated: boolean, condition: string) => `${isNegated ? "NOT " : ""}${condition}`;
  if (mark.of === "setting")
    return not(mark.inside, mark.outside === null ? "false" : `(${outsideCondition(mark.outside)})`);
  const returned = `EXISTS (FROM sync.walk_seen AS w WHERE w.walk_id = ${literal(mark.walkId)} AND w.table_name = ${literal(mark.table)} AND w.id = CAST(t.id AS VARCHAR))`;
  return not(!mark.inside, returned);
};

const markingsOf = (mark: ScopeMark): readonly Marking[] => {
  if (mark.of === "followers") return FOLLOWERS;
  const { table, inside } = mark;
  return [{ table, value: String(inside), where: `t._in_scope IS DISTINCT FROM ${inside} AND ${chosenBy(mark)}` }];
};

export const markStatements = (mark: ScopeMark): readonly string[] =>
  markingsOf(mark).map(
    ({ table, value, where }) => `UPDATE main.${quoted(table)} AS t SET _in_scope = ${value} WHERE ${where}`,
  );

/** A query with a row if the mark changes anything. */
export const changesByMark = (mark: ScopeMark): string =>
  markingsOf(mark)
    .map(({ table, where }) => `(SELECT 1 AS present FROM main.${quoted(table)} AS t WHERE ${where} LIMIT 1)`)
    .join(" UNION ALL ");
