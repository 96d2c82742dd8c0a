// Answers a lookup of a company or an account from the mirror, if the mirror is fresh enough. Sends nothing; lookup-at-service.ts does.
import { z } from "zod";
import { parseJson } from "../../api/lossless-json.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { bareAddress, domainCandidates } from "../../core/text/domain-names.ts";
import type { Database } from "../../warehouse/duckdb/database.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { rowJson } from "../../warehouse/read/record-text.ts";
import type { LookupQuestion, LookupStatus } from "../rows/lookup-outcome.ts";

export interface LookupFound {
  readonly status: LookupStatus;
  /** When the service last showed it, ms since the epoch. */
  readonly asOf: number;
  /** Company, or consolidated insight, under the API's names. */
  readonly record: JsonValue;
  readonly latestEarningsCall: JsonValue;
  readonly latestEarningsCallAnalysis: JsonValue;
  readonly candidates: readonly JsonValue[];
  readonly bestMatch: JsonValue;
}

export const nothingFound = (asOf: number, status: LookupStatus = "not_found"): LookupFound => ({
  status,
  asOf,
  record: null,
  latestEarningsCall: null,
  latestEarningsCallAnalysis: null,
  candidates: [],
  bestMatch: null,
});

const companyRow = z.object({ id: z.string(), as_of: z.number() });
const objectRow = z.object({ object: z.string() });
const accountRow = z.object({
  id: z.string(),
  name: z.string().nullable(),
  domain: z.string().nullable(),
  as_of: z.number().nullable(),
  listed_at: z.number().nullable(),
});
const lastRow = z.object({ summary: z.string(), finished_at: z.number() });
const unknownRow = z.object({ resolved_at: z.number() });

/** The first row that `rest` selects, as a JSON object under the API's names; null: there is none. */
const recordOf = async (database: Database, table: TableName, rest: string, value: string): Promise<JsonValue> => {
  const object = rowJson(tableSpec(table).fields, { alias: "t", extra: true });
  const [row] = await database.query(`SELECT ${object} AS object FROM main.${table} AS t ${rest}`, [value], objectRow);
  return row === undefined ? null : parseJson(row.object);
};

const LATEST_CALL = "WHERE t.company_id = $1 ORDER BY t.happened_at DESC NULLS LAST, t.id DESC LIMIT 1";

const companyInMirror = async (database: Database, input: string, oldest: number): Promise<LookupFound | null> => {
  const host = domainCandidates(input)[0] ?? "";
  const [match] = await database.query(sqlText("lookup/company.sql"), [input, bareAddress(input), host], companyRow);
  if (match === undefined) {
    const [unknown] = await database.query(sqlText("lookup/unknown-company.sql"), [input], unknownRow);
    return unknown === undefined || unknown.resolved_at < oldest ? null : nothingFound(unknown.resolved_at);
  }
  if (match.as_of < oldest) return null;
  const latest = await recordOf(database, "earnings_calls", LATEST_CALL, match.id);
  const { generatedAnalysis = null, fullTranscript: _, ...call } = isJsonObject(latest) ? latest : {};
  return {
    ...nothingFound(match.as_of, "found"),
    record: await recordOf(database, "companies", "WHERE t.id = $1", match.id),
    latestEarningsCall: latest === null ? null : call,
    latestEarningsCallAnalysis: generatedAnalysis,
  };
};

/** The insight as the service returns it: the account's id belongs to the profile. */
const insightOf = async (database: Database, id: string): Promise<JsonValue> => {
  const row = await recordOf(database, "account_insights", "WHERE t.account_id = CAST($1 AS BIGINT)", id);
  if (!isJsonObject(row)) return null;
  const { accountId: _, status: __, ...sections } = row;
  return sections;
};

/** An earlier lookup of the same text that found several accounts or none, if it is fresh enough. */
const earlierLookup = async (database: Database, input: string, oldest: number): Promise<LookupFound | null> => {
  const [last] = await database.query(sqlText("lookup/last-account-lookup.sql"), [input], lastRow);
  if (last === undefined || last.finished_at < oldest) return null;
  const summary = parseJson(last.summary);
  if (!isJsonObject(summary)) return null;
  const { status, candidates, best_match: bestMatch = null } = summary;
  if (status !== "multiple_matches" && status !== "not_found") return null;
  return {
    ...nothingFound(last.finished_at, status),
    candidates: Array.isArray(candidates) ? candidates : [],
    bestMatch,
  };
};

const candidateOf = ({ id, name, domain }: z.output<typeof accountRow>): JsonObject => ({
  accountId: parseJson(id),
  ...(name === null ? {} : { name }),
  ...(domain === null ? {} : { domain }),
});

const accountInMirror = async (database: Database, input: string, oldest: number): Promise<LookupFound | null> => {
  const domains = JSON.stringify(domainCandidates(input));
  const matches = await database.query(sqlText("lookup/accounts.sql"), [input, domains], accountRow);
  const [best] = matches;
  if (best === undefined) return earlierLookup(database, input, oldest);
  if (matches.length === 1) {
    if (best.as_of === null || best.as_of < oldest) return earlierLookup(database, input, oldest);
    return { ...nothingFound(best.as_of, "found"), record: await insightOf(database, best.id) };
  }
  // Several names match: a mirror with the whole list knows all of them.
  if (best.listed_at === null || best.listed_at < oldest) return earlierLookup(database, input, oldest);
  const candidates = matches.map(candidateOf);
  return { ...nothingFound(best.listed_at, "multiple_matches"), candidates, bestMatch: candidates[0] ?? null };
};

/** The mirror's answer; null where it has none, or only one from before `oldest` (ms since the epoch). */
export const lookUpInMirror = (
  database: Database,
  { kind, input }: LookupQuestion,
  oldest: number,
): Promise<LookupFound | null> =>
  kind === "company" ? companyInMirror(database, input, oldest) : accountInMirror(database, input, oldest);

const answeredRow = z.object({ answered: z.boolean() });

/** True when a 404 of the service is believed without another request (sql/lookup/answered.sql). */
export const believes404 = async (database: Database): Promise<boolean> => {
  const [row] = await database.query(sqlText("lookup/answered.sql"), [], answeredRow);
  return row?.answered === true;
};
