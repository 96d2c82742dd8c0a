// GET /v1/account-insights: resolution by id, domain or text, and the sections asked for.
import { badRequest, type Found } from "./answer.ts";
import type { Fields, Json } from "./json-text.ts";
import type { Workspace } from "./workspace.ts";
import type { Row } from "./world.ts";

const PROFILE = [
  "name",
  "domain",
  "logoUrl",
  "description",
  "headquartersLocation",
  "industry",
  "numberOfEmployees",
  "type",
  "priority",
  "countryCode",
  "addedOn",
  "lastRefreshAt",
];

export const insightProfile = ({ fields }: Row): Fields => {
  const named = PROFILE.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name] ?? null]);
  return { accountId: fields.id ?? null, ...Object.fromEntries(named), score: fields.mainScore ?? null };
};

const candidateOf = ({ fields }: Row): Fields => ({
  accountId: fields.id ?? null,
  name: fields.name ?? null,
  domain: fields.domain ?? null,
});

export const insightRoute = ({ world, traits, tier }: Workspace, query: URLSearchParams): Found => {
  const [id, domain, text] = [query.get("accountId"), query.get("domain"), query.get("query")];
  if (id === null && domain === null && text === null) return badRequest("one of query, domain, accountId is required");
  const answer = (top: Fields): Found => ({ ok: true, top, usage: true });
  const nothing = (): Found =>
    answer({ status: "not_found", ...(traits.records.absent === "null" ? { data: null, message: null } : {}) });
  if (tier() === "public") return nothing();
  const rows = [...world.accounts.values()];
  const byDomain = (wanted: string) =>
    rows.filter(({ fields }) => fields.domain === wanted.toLowerCase().replace(/^www\./, ""));
  const byText = (wanted: string) =>
    rows.filter(({ fields }) =>
      String(fields.name ?? "")
        .toLowerCase()
        .includes(wanted.toLowerCase()),
    );
  const matches =
    id !== null
      ? rows.filter(({ key }) => key === id)
      : domain !== null
        ? byDomain(domain)
        : [...byDomain(text ?? ""), ...byText(text ?? "")];
  const [first] = matches;
  if (first === undefined) return nothing();
  if (matches.length > 1) {
    const candidates: Json = matches.map(candidateOf);
    return answer({ status: "multiple_matches", candidates, bestMatch: candidateOf(first) });
  }
  const sections = world.insights.get(first.key);
  if (sections === undefined) return nothing();
  const wanted = query.get("sections")?.split(",") ?? null;
  const kept = Object.entries(sections).filter(([name]) => wanted === null || wanted.includes(name));
  return answer({ status: "found", data: { profile: insightProfile(first), ...Object.fromEntries(kept) } });
};
