// GET /v1/account-insights: finds the requested account and returns its consolidated insight.
// Source: API.md, "GET /v1/account-insights" and "Account insight".
import { z } from "zod";
import { tableSpec } from "../../catalog/tables.ts";
import { domainCandidates } from "../../core/text/domain-names.ts";
import { memberJson, objectJson, valueJson } from "../../warehouse/read/record-text.ts";
import type { Answer } from "../envelope.ts";
import type { Params } from "../query/params.ts";
import type { Reader } from "../reader.ts";
import { Refusal } from "../refusal.ts";
import { readAccountLists } from "../related.ts";

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
