// GET /v1/account-insights: resolution by id, domain or text, and the sections asked for.
import { badRequest, type Found } from "./answer.ts";
import { includedLists } from "./included.ts";
import type { Fields, Json } from "./json-text.ts";
import { shown } from "./lists.ts";
import * as resource from "./resources.ts";
import type { Workspace } from "./workspace.ts";
import type { Row, Rows } from "./world.ts";

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

/** Contacts and signals of the account, as far as asked for. */
const alongWith = ({ world, traits }: Workspace, query: URLSearchParams, account: Row): Json | undefined => {
  const wanted = query.get("include")?.split(",") ?? [];
  const most = (name: string, usual: number) => Math.min(100, Number(query.get(name) ?? usual));
  const of = (rows: Rows, fields: readonly resource.Field[], limit: number, hidden: readonly string[] = []) =>
    [...rows.values()]
      .filter((row) => String(row.fields.accountId) === account.key)
      .slice(0, limit)
      .map((row) => {
        const record = shown(row.fields, fields, new URLSearchParams(), traits, {});
        return Object.fromEntries(Object.entries(record).filter(([name]) => !hidden.includes(name)));
      });
  const lists = {
    ...(wanted.includes("contacts")
      ? { contacts: of(world.contacts, resource.CONTACT, most("contactsLimit", 10), ["phone", "talkingPoints"]) }
      : {}),
    ...(wanted.includes("signals")
      ? { signals: of(world.signals, resource.SIGNAL, most("signalsLimit", 20), ["fullContent", "sources"]) }
      : {}),
  };
  return includedLists(lists, traits.included);
};

export const insightRoute = (workspace: Workspace, query: URLSearchParams): Found => {
  const { world, traits, tier } = workspace;
  if (query.has("include") && traits.included === "refused") return badRequest("include is not supported here");
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
  const included = alongWith(workspace, query, first);
  return answer({
    status: "found",
    data: { profile: insightProfile(first), ...Object.fromEntries(kept) },
    ...(included === undefined ? {} : { included }),
  });
};
