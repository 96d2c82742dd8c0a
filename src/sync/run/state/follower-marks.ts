// Keeps `_in_scope` of insights, companies and their lists true: an insight follows its account, a company the accounts
// inside the setting `scope` and the inputs that are followed. These rows are no list that the service could filter, so
// they are marked at the end of a run, from the accounts and inputs that the mirror then holds
// (docs/decisions/0131-marks-that-follow.md).
import type { TableName } from "../../../catalog/tables.ts";
import type { Warehouse } from "../../../warehouse/file/warehouse.ts";

/** A query for the ids of companies that syncs keep up to date. */
const FOLLOWED = `SELECT company_id FROM main.accounts WHERE _in_scope AND company_id IS NOT NULL
  UNION
  SELECT company_id FROM main.company_inputs
  WHERE company_id IS NOT NULL AND (
    NOT EXISTS (FROM sync.capabilities WHERE name = 'wanted')
    OR input IN (SELECT unnest(CAST(value -> '$.inputs' AS VARCHAR[])) FROM sync.capabilities WHERE name = 'wanted')
  )`;

const markSql = (table: TableName, inside: string): string =>
  `UPDATE main.${table} AS t SET _in_scope = NOT t._in_scope WHERE t._in_scope <> (${inside})`;

/** One statement per table; each takes no parameter. */
export const FOLLOWER_MARKS: readonly string[] = [
  markSql("account_insights", "t.account_id IN (SELECT id FROM main.accounts WHERE _in_scope)"),
  markSql("companies", `t.id IN (${FOLLOWED})`),
  ...(["news_articles", "job_openings", "earnings_calls", "filings"] as const).map((table) =>
    markSql(table, `t.company_id IN (${FOLLOWED})`),
  ),
];

/** Marks what follows accounts and companies. */
export const markFollowers = async ({ database }: Pick<Warehouse, "database">): Promise<void> => {
  for (const sql of FOLLOWER_MARKS) await database.run(sql);
};
