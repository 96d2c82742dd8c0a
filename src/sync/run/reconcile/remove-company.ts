// Removes the rows of a company from the mirror: the lists of a deleted company, and all rows of companies that are no longer followed
// and that the user asked to erase. The rows move to history.
import { z } from "zod";
import { COMPANY_LISTS, type StreamName, streamSpec } from "../../../catalog/streams.ts";
import { sqlText } from "../../../warehouse/duckdb/sql-files.ts";
import type { Warehouse } from "../../../warehouse/file/warehouse.ts";
import type { ScopeState } from "../../../warehouse/record/checkpoint.ts";
import { unreadState } from "../../list/stored-state.ts";
import { INPUT_SCOPE } from "../../rows/loads.ts";

/** Run that removes the rows, and its time, ms since the epoch. */
interface Removal {
  readonly runId: string;
  readonly now: number;
}

/** Removes all lists of a company. Returns the number of deleted rows per stream. */
export const removeLists = async (
  warehouse: Warehouse,
  company: string,
  { runId, now }: Removal,
): Promise<ReadonlyMap<StreamName, number>> => {
  const deleted = new Map<StreamName, number>();
  for (const name of COMPANY_LISTS) {
    const { table } = streamSpec(name);
    const ids = await warehouse.idsOfCompany(table, company);
    if (ids.length > 0) deleted.set(name, await warehouse.deleteKeys({ table, ids, company, runId, now }));
  }
  return deleted;
};

const erasableRow = z.object({ company_id: z.string() });

const count = (deleted: Map<StreamName, number>, name: StreamName, rows: number): void => {
  if (rows > 0) deleted.set(name, (deleted.get(name) ?? 0) + rows);
};

/**
 * Erases everything of these companies. Their states go, too, so that they are read anew if they are followed again.
 * Returns the number of deleted rows per stream.
 */
const eraseCompanies = async (
  warehouse: Warehouse,
  companies: readonly string[],
  { runId, now }: Removal,
): Promise<Map<StreamName, number>> => {
  const deleted = new Map<StreamName, number>();
  const states: ScopeState[] = [];
  for (const company of companies) {
    for (const [name, rows] of await removeLists(warehouse, company, { runId, now })) count(deleted, name, rows);
    count(deleted, "companies", await warehouse.deleteKeys({ table: "companies", ids: [company], runId, now }));
    states.push(...[...COMPANY_LISTS, "companies" as const].map((name) => unreadState(name, company, runId)));
  }
  await warehouse.commit({ runId, loads: [], requests: [], scopes: states, quota: null });
  return deleted;
};

const insightRow = z.object({ id: z.string() });

/**
 * Erases insights and companies outside the setting `scope`: those that no account inside and no followed input names.
 * Returns the number of deleted rows per stream.
 */
export const eraseFollowers = async (
  warehouse: Warehouse,
  removal: Removal,
): Promise<ReadonlyMap<StreamName, number>> => {
  const { runId, now } = removal;
  const insights = await warehouse.database.query(sqlText("plan/outside-insights.sql"), [], insightRow);
  const ids = insights.map(({ id }) => id);
  const erased = await warehouse.deleteKeys({ table: "account_insights", ids, runId, now });
  const scopes = ids.map((id) => unreadState("account_insights", id, runId));
  await warehouse.commit({ runId, loads: [], requests: [], scopes, quota: null });
  const companies = await warehouse.database.query(sqlText("plan/outside-companies.sql"), [], erasableRow);
  const deleted = await eraseCompanies(
    warehouse,
    companies.map(({ company_id }) => company_id),
    removal,
  );
  count(deleted, "account_insights", erased);
  return deleted;
};

/**
 * Erases companies whose inputs are followed no more, unless an account or another followed input names them. Returns
 * the number of deleted rows.
 */
export const eraseUnfollowed = async (
  warehouse: Warehouse,
  inputs: { readonly erase: readonly string[]; readonly followed: readonly string[] },
  { runId, now }: Removal,
): Promise<number> => {
  const erase = inputs.erase.filter((input) => !inputs.followed.includes(input));
  const params = [JSON.stringify(erase), JSON.stringify(inputs.followed)];
  const rows = await warehouse.database.query(sqlText("plan/erasable-companies.sql"), params, erasableRow);
  const companies = rows.map(({ company_id }) => company_id);
  let deleted = 0;
  for (const rows of (await eraseCompanies(warehouse, companies, { runId, now })).values()) deleted += rows;
  deleted += await warehouse.deleteKeys({ table: "company_inputs", ids: [...erase], runId, now });
  const scopes = erase.map((input) => unreadState("companies", `${INPUT_SCOPE}${input}`, runId));
  await warehouse.commit({ runId, loads: [], requests: [], scopes, quota: null });
  return deleted;
};
