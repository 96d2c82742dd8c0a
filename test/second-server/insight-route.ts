// GET /v1/account-insights, by the id of an account.
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
  const id = query.get("accountId");
  if (id === null) return badRequest("accountId is required");
  const account = world.accounts.get(id);
  const sections = world.insights.get(id);
  const answer = (top: Fields): Found => ({ ok: true, top, usage: true });
  if (tier() === "public" || account === undefined || sections === undefined)
    return answer({ status: "not_found", ...(traits.records.absent === "null" ? { data: null, message: null } : {}) });
  const included = alongWith(workspace, query, account);
  return answer({
    status: "found",
    data: { profile: insightProfile(account), ...sections },
    ...(included === undefined ? {} : { included }),
  });
};
