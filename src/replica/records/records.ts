// Responses of the replica's routes for one record: the record with the requested fields, and its related records.
import { z } from "zod";
import { hasUsage, type RouteSpec } from "../../catalog/endpoints.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { bareAddress, domainCandidates } from "../../core/text/domain-names.ts";
import { memberJson, objectJson, valueJson } from "../../warehouse/read/record-text.ts";
import type { FilledColumns } from "../cache/list-cache.ts";
import { type Answer, dataAnswer } from "../envelope.ts";
import { Binds } from "../query/filters.ts";
import type { RecordColumns } from "../query/list-query.ts";
import { chooseFields, type Params } from "../query/params.ts";
import { type FindRecords, idIn, type Reader } from "../reader.ts";
import { Refusal } from "../refusal.ts";
import { LINK_COLUMNS, readAccountLists, readLatestCall, readLinked } from "../related.ts";

// GET /v1/account-insights: finds the requested account and returns its consolidated insight.
// Source: API.md, "GET /v1/account-insights" and "Account insight".

const SECTIONS = ["profile", "summary", "research", "swotAnalysis", "value"] as const;

/** Most candidates listed for an ambiguous query; a longer list helps nobody choose. */
const MAX_CANDIDATES = 25;

const accountField = (name: string) => tableSpec("accounts").fields.filter((field) => field.name === name);

const member = (as: string, name: string) => accountField(name).map((field) => memberJson(as, valueJson(field, "t")));

const candidateJson = objectJson([
  ...member("accountId", "id"),
  ...member("name", "name"),
  ...member("domain", "domain"),
]);

const LINKS = ["professionalNetworkUrl", "fundingDataUrl", "contactDataUrl", "crmUrl", "salesToolUrl"];

/** The profile section, built from the account for an insight without a stored profile. */
const profileJson = objectJson([
  ...member("accountId", "id"),
  ...["name", "domain", "logoUrl", "description", "headquartersLocation", "industry", "numberOfEmployees"].flatMap(
    (name) => member(name, name),
  ),
  ...member("score", "mainScore"),
  ...["type", "priority", "countryCode", "addedOn", "lastRefreshAt"].flatMap((name) => member(name, name)),
  memberJson("owner", "(SELECT CAST(o.data AS VARCHAR) FROM main.owners AS o WHERE o.id = t.owner_id)"),
  memberJson("links", `nullif(${objectJson(LINKS.flatMap((name) => member(name, name)))}, '{}')`),
]);

const candidateRow = z.object({ id: z.string(), object: z.string() });

type Candidate = z.infer<typeof candidateRow>;

const candidates = (reader: Reader, where: string, value: string, order = "t.id"): Promise<Candidate[]> =>
  reader.query(
    `SELECT CAST(t.id AS VARCHAR) AS id, ${candidateJson} AS object FROM main.accounts AS t
     WHERE ${where} ORDER BY ${order} LIMIT ${MAX_CANDIDATES}`,
    [value],
    candidateRow,
  );

const byDomain = (reader: Reader, input: string): Promise<Candidate[]> => {
  const domains = "string_split($1, ',')";
  return candidates(
    reader,
    `list_contains(${domains}, lower(t.domain))`,
    domainCandidates(input).join(","),
    `list_position(${domains}, lower(t.domain)), t.main_score DESC NULLS LAST, t.id`,
  ).then((found) => found.slice(0, 1));
};

const resolve = async (reader: Reader, params: Params): Promise<readonly Candidate[]> => {
  const accountId = params.text("accountId");
  if (accountId !== undefined) return candidates(reader, "t.id = CAST($1 AS BIGINT)", accountId);
  const domain = params.text("domain");
  if (domain !== undefined) return byDomain(reader, domain);
  const query = params.text("query");
  if (query === undefined) throw new Refusal("bad_request", "One of accountId, domain and query is required.");
  if (query.includes(".")) {
    const exact = await byDomain(reader, query);
    if (exact.length > 0) return exact;
  }
  return candidates(reader, "contains(lower(t.name), lower(trim($1)))", query, "t.main_score DESC NULLS LAST, t.id");
};

const answer = (status: string, parts: Partial<Answer>): Answer => ({
  head: [["status", JSON.stringify(status)]],
  tail: [],
  included: [],
  usageBlock: true,
  ...parts,
});

const said = (status: string, message: string): Answer["head"] => [
  ["status", JSON.stringify(status)],
  ["message", JSON.stringify(message)],
];

/** Response for an untracked account, and for every request of a public API-only organization. */
export const insightNotFound = (): Answer =>
  answer("not_found", { head: said("not_found", "No tracked account matches.") });

/** JSON object with the sections of one account: always the profile, others if they have content. */
const insightData = async (reader: Reader, accountId: string, sections: readonly string[]): Promise<string> => {
  const wanted = SECTIONS.filter((section) => section !== "profile" && sections.includes(section));
  const fields = tableSpec("account_insights").fields;
  const stored = wanted.flatMap((section) =>
    fields.filter((field) => field.name === section).map((field) => memberJson(section, valueJson(field, "i"))),
  );
  const profile = memberJson("profile", `coalesce(CAST(i.profile AS VARCHAR), ${profileJson})`);
  const rows = await reader.query(
    `SELECT ${objectJson([profile, ...stored])} AS object FROM main.accounts AS t
     LEFT JOIN main.account_insights AS i ON i.account_id = t.id WHERE t.id = CAST($1 AS BIGINT)`,
    [accountId],
    z.object({ object: z.string() }),
  );
  return rows[0]?.object ?? "{}";
};

/**
 * The insight of the account given by accountId, domain or query (in this order). Throws a 400 refusal without any.
 */
export const accountInsight = async (reader: Reader, params: Params): Promise<Answer> => {
  const [first, ...others] = await resolve(reader, params);
  if (first === undefined) return insightNotFound();
  if (others.length > 0) {
    const all = [first, ...others].map(({ object }) => object);
    return answer("multiple_matches", {
      head: said("multiple_matches", `${all.length} accounts match. Ask again with accountId or domain.`),
      tail: [
        ["candidates", `[${all.join(",")}]`],
        ["bestMatch", first.object],
      ],
    });
  }
  const sections = params.list("sections");
  return answer("found", {
    data: await insightData(reader, first.id, sections.length === 0 ? SECTIONS : sections),
    included: await readAccountLists(reader, first.id, params),
  });
};

// Resolves an input to a company (API.md, "GET /v1/companies/by-input/{companyInputId}").

/** `bareAddress` as SQL, for stored addresses. */
const bare = (column: string): string => {
  const host = `regexp_replace(lower(trim(${column})), '^([a-z][a-z0-9+.-]*://)?(www\\.)?', '')`;
  return `regexp_replace(regexp_replace(${host}, '[?#].*$', '', 's'), '/+$', '')`;
};

// One statement, so that the order is visible: an exact id first, a domain last, because a profile address also
// contains a domain (the network's). company_inputs holds the inputs that a mirror resolved before.
const SQL = `
SELECT id FROM (
  SELECT id, 1 AS rank FROM main.companies WHERE id = $1
  UNION ALL SELECT id, 2 FROM main.companies WHERE upper(main_stock_symbol) = upper($1)
  UNION ALL SELECT id, 3 FROM main.companies WHERE ${bare("professional_network_url")} = $2
  UNION ALL SELECT id, 4 FROM main.companies WHERE ${bare("funding_data_url")} = $2
  UNION ALL SELECT company_id, 5 FROM main.company_inputs WHERE input = $1 AND company_id IS NOT NULL
  UNION ALL
  SELECT id, 5 + list_position(string_split($3, ','), lower(domain)) FROM main.companies
  WHERE list_contains(string_split($3, ','), lower(domain))
) ORDER BY rank, id LIMIT 1`;

/** Id of the company for an id, stock symbol, profile address, domain or website; undefined when there is none. */
export const resolveCompany = async (reader: Reader, input: string): Promise<string | undefined> => {
  const trimmed = input.trim();
  const rows = await reader.query(
    SQL,
    [trimmed, bareAddress(trimmed), domainCandidates(trimmed).join(",")],
    z.object({ id: z.string() }),
  );
  return rows[0]?.id;
};

export const notFound = (route: RouteSpec) => new Refusal("not_found", `${route.notFound ?? "not found"}.`);

/** Every function throws `Refusal`, 404, where the mirror has no such record. */
export const createRecords = (database: Reader, findRecords: FindRecords, columns: FilledColumns) => {
  const find = async (what: RecordColumns, id: string) => (await findRecords(what, [id])).get(id);

  const record = async (route: RouteSpec, table: TableName, id: string, params: Params): Promise<Answer> => {
    const { fields, named } = chooseFields(table, params, true);
    const found = await find(columns.of({ table, fields, extra: !named }), id);
    if (found === undefined) throw notFound(route);
    return dataAnswer(found.object, hasUsage(route));
  };

  const linkOf = async (table: TableName, id: string, column: string): Promise<readonly string[]> => {
    const binds = new Binds();
    const rows = await database.query(
      `SELECT CAST(t."${column}" AS VARCHAR) AS link FROM main."${table}" AS t WHERE ${idIn(table, [id])(binds)}`,
      binds.values,
      z.object({ link: z.string().nullable() }),
    );
    return rows.flatMap(({ link }) => (link === null ? [] : [link]));
  };

  const workspaceRecord = async (route: RouteSpec, table: TableName, id: string, params: Params): Promise<Answer> => {
    const answer = await record(route, table, id, params);
    const linked = params.list("include").flatMap((include) => {
      const column = LINK_COLUMNS[include];
      return column === undefined ? [] : [{ include, column }];
    });
    const embedded = await Promise.all(
      linked.map(async ({ include, column }) =>
        readLinked(database, include, await linkOf(table, id, column), "record"),
      ),
    );
    const lists = table === "accounts" ? await readAccountLists(database, id, params) : [];
    return { ...answer, included: [...embedded, ...lists] };
  };

  const company = async (route: RouteSpec, id: string | undefined, params: Params): Promise<Answer> => {
    if (id === undefined) throw notFound(route);
    const answer = await record(route, "companies", id, params);
    return { ...answer, included: await readLatestCall(database, id, params.list("include")) };
  };

  const checkCompany = async (route: RouteSpec, id: string): Promise<void> => {
    const known = await find({ table: "companies", fields: [], extra: false }, id);
    if (known === undefined) throw notFound(route);
  };

  return { workspaceRecord, company, checkCompany };
};
