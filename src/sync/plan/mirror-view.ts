// Reads the state of the mirror that planning needs (rows, stored states, ages, accounts) from the database. Writes nothing; due.ts decides
// with it.
import { z } from "zod";
import { COMPANY_LISTS, ORGANIZATION_LISTS, STREAM_NAMES, type StreamName, streamSpec } from "../../catalog/streams.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import type { RowScope } from "../../core/config/planning/scope-settings.ts";
import { literal, quoted } from "../../core/text/sql-text.ts";
import type { Database } from "../../warehouse/duckdb/database.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { instant } from "../../warehouse/duckdb/statements.ts";
import type { MirrorReader } from "../../warehouse/read/mirror-reader.ts";
import type { ChangeCounts, ScopeState } from "../../warehouse/record/checkpoint.ts";
import { contentIds, idsInScope, isScoped } from "../rows/row-scope.ts";
import { type AccountFact, type MirrorView, stateKey } from "./candidate.ts";
import { readLastQuota } from "./credits.ts";

// The query for the number of mirrored rows per list, generated from the table of streams. Pure.

const rowsOf = (stream: StreamName, scope: string, rest = ""): string =>
  `SELECT ${literal(stream)} AS stream, ${scope} AS scope, count(*) AS rows FROM main.${quoted(streamSpec(stream).table)}${rest}`;

/** One row per stream and scope: '' for a list of the organization, else the company's id. Empty lists are absent. */
export const ROWS_BY_SCOPE: string = [
  ...ORGANIZATION_LISTS.map((stream) => rowsOf(stream, "''", " WHERE _in_scope")),
  rowsOf("usage", "'requests'"),
  ...COMPANY_LISTS.map((stream) => rowsOf(stream, "company_id", " GROUP BY company_id")),
].join(" UNION ALL ");

/** Most signals whose content one run fetches, so that planning stays fast on a large mirror. */
const MOST_DETAILS = 20_000;

const sameFields = tableSpec("accounts").fields.map(
  ({ column }) => `a.${quoted(column)} IS NOT DISTINCT FROM h.${quoted(column)}`,
);

/**
 * Accounts whose present version differs in no documented field from the one of which their insight is: an unknown field that the
 * service adds makes no insight due. One row per account; none if that version is pruned. Generated from the catalog.
 */
export const SAME_ACCOUNTS: string = `SELECT CAST(a.id AS VARCHAR) AS id FROM main.accounts AS a
  JOIN sync.stream_state AS s ON s.stream = 'account_insights' AND s.scope = CAST(a.id AS VARCHAR)
  JOIN history.accounts AS h ON h.id = a.id AND h._synced_at = s.watermark
  WHERE a._synced_at <> s.watermark AND ${sameFields.join(" AND ")}`;

const profileFields = tableSpec("companies").fields.filter(({ optIn, namedOnly }) => !optIn && !namedOnly);

/**
 * Fields without a value in every company that came with an account only, and was never asked for itself. One row per such field;
 * none without such a company. Generated from the catalog.
 */
export const UNFILLED_FIELDS: string = `SELECT field FROM (
  SELECT
    unnest([${profileFields.map(({ name }) => `'${name}'`).join(", ")}]) AS field,
    unnest([${profileFields.map(({ column }) => `count(${quoted(column)})`).join(", ")}]) AS filled
  FROM main.companies
  WHERE id NOT IN (SELECT scope FROM sync.stream_state WHERE stream = 'companies' AND checked_at IS NOT NULL)
    AND id NOT IN (SELECT company_id FROM main.company_inputs WHERE company_id IS NOT NULL)
  HAVING count(*) > 0
) WHERE filled = 0`;

const account = z
  .object({
    id: z.string(),
    company_id: z.string().nullable(),
    priority: z.number().nullable(),
    score: z.number().nullable(),
    changed_at: z.number(),
  })
  .transform(({ company_id, changed_at, ...row }) => ({ ...row, companyId: company_id, changedAt: changed_at }));
const same = z.object({ id: z.string() });
const company = z.object({ id: z.string() });
const unfilledField = z.object({ field: z.string() });
const input = z
  .object({ input: z.string(), company_id: z.string().nullable(), resolved_at: z.number().nullable() })
  .transform((row) => ({ input: row.input, companyId: row.company_id, resolvedAt: row.resolved_at }));
const hint = z.object({ stream: z.string(), company_id: z.string(), signal_count: z.number(), type: z.string() });
const contentless = z
  .object({ id: z.string(), account_id: z.string(), updated_at: z.number().nullable() })
  .transform((row) => ({ id: row.id, accountId: row.account_id, updatedAt: row.updated_at }));
const scopeRows = z.object({ stream: z.string(), scope: z.string(), rows: z.number() });

/** `read`, whose last result serves until one of these tables changes. */
const whileUnchanged = <T>(
  { changesOf }: ChangeCounts,
  tables: readonly TableName[],
  read: (now: number) => Promise<T>,
): ((now: number) => Promise<T>) => {
  let latest: { readonly at: string; readonly result: Promise<T> } | null = null;
  return (now) => {
    const at = tables.map((table) => changesOf(table)).join();
    if (latest?.at !== at) latest = { at, result: read(now) };
    return latest.result;
  };
};

/** Ids of accounts whose insight is due by another version only because of fields that API.md does not know. */
const readSameAccounts = async (
  database: Database,
  states: readonly ScopeState[],
  known: readonly AccountFact[],
): Promise<ReadonlySet<string>> => {
  const versions = new Map(
    states.flatMap((state) => (state.stream === "account_insights" ? [[state.scope, state.watermark]] : [])),
  );
  const isOther = ({ id, changedAt }: AccountFact) => (versions.get(id) ?? changedAt) !== changedAt;
  if (!known.some(isOther)) return new Set<string>();
  return new Set((await database.query(SAME_ACCOUNTS, [], same)).map(({ id }) => id));
};

/**
 * Reads the planner's view of the mirror, for one run: what was read before serves again where its tables did not change.
 * Hints and contents also depend on the states; but what a run checks, it does not take twice. `content`: whether signal
 * contents are configured.
 */
export const mirrorViews = (
  warehouse: MirrorReader,
  { content, rowScope }: { readonly content: boolean; readonly rowScope: RowScope },
): ((now: number) => Promise<MirrorView>) => {
  const { database } = warehouse;
  const among = (rows: string, ids: string) => `SELECT r.* FROM (${rows}) AS r WHERE r.id IN (${ids})`;
  const accountRows = sqlText("plan/accounts.sql");
  const chosenAccounts = isScoped(rowScope, "accounts")
    ? among(accountRows, idsInScope(rowScope, "accounts"))
    : accountRows;
  const contentRows = sqlText("plan/signals-without-content.sql");
  const isChosen = isScoped(rowScope, "signals") || rowScope.content !== undefined;
  const chosenContent = isChosen ? among(contentRows, contentIds(rowScope)) : contentRows;
  const accounts = whileUnchanged(warehouse, ["accounts"], () => database.query(chosenAccounts, [], account));
  const companies = whileUnchanged(warehouse, ["companies"], async () => {
    const rows = await database.query(sqlText("plan/companies.sql"), [], company);
    return new Set(rows.map((row) => row.id));
  });
  const unfilled = whileUnchanged(warehouse, ["companies", "company_inputs"], async () =>
    (await database.query(UNFILLED_FIELDS, [], unfilledField)).map(({ field }) => field),
  );
  const inputs = whileUnchanged(warehouse, ["company_inputs"], () =>
    database.query(sqlText("plan/inputs.sql"), [], input),
  );
  const hintTypes = STREAM_NAMES.flatMap((stream) => streamSpec(stream).hints.map((type) => ({ type, stream })));
  const hints = whileUnchanged(warehouse, ["signals", "accounts"], async (now) => {
    const rows = await database.query(sqlText("plan/hints.sql"), [JSON.stringify(hintTypes), instant(now)], hint);
    return new Map(
      rows.map((row) => [stateKey(row.stream, row.company_id), { count: row.signal_count, type: row.type }]),
    );
  });
  const signalsWithoutContent = whileUnchanged(warehouse, ["signals"], async () =>
    content ? database.query(chosenContent, [MOST_DETAILS], contentless) : [],
  );
  const quota = whileUnchanged(warehouse, [], () => readLastQuota(database));
  return async (now) => {
    const reported = await quota(now);
    const [states, ...rest] = await Promise.all([
      warehouse.scopeStates(),
      accounts(now),
      companies(now),
      inputs(now),
      hints(now),
      signalsWithoutContent(now),
      unfilled(now),
    ]);
    return {
      now,
      sameAccounts: await readSameAccounts(database, states, rest[0]),
      creditLimit: reported?.limit ?? null,
      creditsUsed: reported?.used ?? null,
      states: new Map(states.map((state) => [stateKey(state.stream, state.scope), state])),
      accounts: rest[0],
      companies: rest[1],
      inputs: rest[2],
      hints: rest[3],
      signalsWithoutContent: rest[4],
      unfilled: rest[5],
    };
  };
};

/** Number of mirrored rows per list: `stateKey(stream, scope)` → rows; empty lists are absent. */
export const readScopeRows = async (database: Database): Promise<Map<string, number>> => {
  const rows = await database.query(ROWS_BY_SCOPE, [], scopeRows);
  return new Map(rows.map((row) => [stateKey(row.stream, row.scope), row.rows]));
};

/** Number of mirrored contacts whose last change was detected after `after` (ms since the epoch). */
export const countChangedContacts = async (database: Database, after: number): Promise<number> => {
  const counted = await database.query(
    sqlText("plan/contacts-changed-after.sql"),
    [instant(after)],
    z.object({ rows: z.number() }),
  );
  return counted[0]?.rows ?? 0;
};
