// The endpoints of API.md that a sync reads, over the world as it is now.
import { badRequest, type Found, found, notFound } from "./answer.ts";
import { includedOf } from "./included.ts";
import { insightRoute } from "./insight-route.ts";
import type { Fields, Json } from "./json-text.ts";
import { type Dates, filtered, type ListRoute, pageOf, shown } from "./lists.ts";
import * as resource from "./resources.ts";
import type { Traits } from "./traits.ts";
import { usageRoutes } from "./usage-routes.ts";
import type { Workspace } from "./workspace.ts";
import type { Row, Rows } from "./world.ts";

/** Filters by date: parameters after and before, and the field. */
const CONTACT_DATES: Dates = [
  ["isInCurrentRoleAfterDate", "isInCurrentRoleBeforeDate", "inCurrentRoleSince"],
  ["lastChangeDetectedAfter", "lastChangeDetectedBefore", "lastChangeDetectedOn"],
];
const SIGNAL_DATES: Dates = [["afterDate", "beforeDate", "date"]];

const namesIn = (query: URLSearchParams): readonly string[] => query.get("include")?.split(",") ?? [];

const withheldSignalFields = ({ records }: Traits, detail: boolean): ListRoute["withheld"] => {
  if (detail) return {};
  const rule = (shownWhen: "always" | "named" | "detail") =>
    shownWhen === "always" ? null : shownWhen === "named" ? ("named" as const) : ("never" as const);
  const [sources, content] = [rule(records.signalSources), rule(records.signalContent)];
  return { ...(sources === null ? {} : { sources }), ...(content === null ? {} : { fullContent: content }) };
};

/** The profile's own rule: `contactDataUrl` is in the field list only. */
const companyRules = ({ records }: Traits): ListRoute["withheld"] => ({
  contactDataUrl: records.contactDataUrl ? "named" : "never",
});

/** A record of a company, embedded: as its profile shows it by default. */
const profileOf = (row: Row | undefined, traits: Traits): Fields | null =>
  row === undefined ? null : shown(row.fields, resource.COMPANY, new URLSearchParams(), traits, companyRules(traits));

/** The same in an account: some services embed a part of it. */
const embeddedCompany = (row: Row | undefined, traits: Traits): Fields | null => {
  const whole = profileOf(row, traits);
  if (whole === null || !traits.strangers.embedsShort) return whole;
  return Object.fromEntries(Object.entries(whole).filter(([name]) => ["id", "name", "domain"].includes(name)));
};

export const answerRoute = (workspace: Workspace, path: readonly string[], query: URLSearchParams): Found => {
  const { world, traits } = workspace;
  const isFull = workspace.tier() === "full";
  const { largest, largestOfCompany } = traits.pages;

  const page = (route: ListRoute, related: (rows: readonly Row[]) => Json | undefined, usage: boolean): Found => {
    if (namesIn(query).length > 0 && traits.included === "refused") return badRequest("include is not supported here");
    const answer = pageOf(route, query, traits, {
      version: world.version(),
      answer: String(workspace.credits.charged()),
    });
    if (!answer.ok) return answer;
    const data = answer.rows.map(({ fields }) => shown(fields, route.fields, query, traits, route.withheld));
    const included = related(answer.rows);
    return found(data, { meta: answer.meta, usage, ...(included === undefined ? {} : { included }) });
  };

  const accountRelations = (rows: readonly Row[], single: boolean): Json | undefined => {
    const include = namesIn(query);
    return includedOf(
      {
        ...(include.includes("company")
          ? { company: rows.map((row) => embeddedCompany(world.companies.get(String(row.fields.companyId)), traits)) }
          : {}),
        ...(include.includes("owner")
          ? { owner: rows.map((row) => world.owners.get(String(row.fields.ownerId))?.fields ?? null) }
          : {}),
      },
      traits.included,
      single,
    );
  };

  const list = (rows: Rows, dates: Dates, fields: readonly resource.Field[], sortBy: string): ListRoute => ({
    fields,
    rows: isFull ? filtered(rows.values(), dates, query, traits) : [],
    sortBy,
    largest,
    withheld: fields === resource.SIGNAL ? withheldSignalFields(traits, false) : {},
  });

  /** What a record that left its list is by its id. */
  const departed = (rows: Rows, id: string): Row | "moved" | undefined => {
    const row = world.left.get(rows)?.get(id);
    const { leavers } = traits.strangers;
    if (row === undefined || leavers === "gone") return undefined;
    if (leavers === "archived") return row;
    return leavers === "moved" ? "moved" : [...rows.values()][0];
  };

  const detail = (rows: Rows, id: string, fields: readonly resource.Field[], what: string): Found => {
    const row = isFull ? (rows.get(id) ?? departed(rows, id)) : undefined;
    if (row === undefined) return notFound(what);
    if (row === "moved") return { ok: false, status: 301, why: "merged into another one" };
    const { lateMs } = traits.strangers;
    if (fields === resource.SIGNAL && workspace.now() - (row.madeAt ?? 0) < lateMs) return notFound(what);
    const included = fields === resource.ACCOUNT ? accountRelations([row], true) : undefined;
    return found(shown(row.fields, fields, query, traits, {}), included === undefined ? {} : { included });
  };

  const counts = (): Found => {
    const rows = isFull ? filtered(world.signals.values(), SIGNAL_DATES, query, traits) : [];
    if (!isFull) return found({});
    const byType = resource.SIGNAL_TYPES.map((type) => [
      type,
      rows.filter(({ fields }) => fields.type === type).length,
    ]);
    const accounts = new Set(rows.map(({ fields }) => String(fields.accountId))).size;
    return found({ all: rows.length, accounts, ...Object.fromEntries(byType) });
  };

  const profile = (row: Row | undefined): Found => {
    if (row === undefined) return notFound("company");
    const include = namesIn(query);
    if (include.length > 0 && traits.included === "refused") return badRequest("include is not supported here");
    const calls = [...(world.ofCompany["earnings-calls"].get(row.key)?.values() ?? [])];
    const [latest] = calls.sort((a, b) => b.born - a.born);
    const call = latest === undefined ? null : shown(latest.fields, resource.CALL, new URLSearchParams(), traits, {});
    const wanted = {
      ...(include.includes("latestEarningsCall") ? { latestEarningsCall: call } : {}),
      ...(include.includes("latestEarningsCallAnalysis") ? { latestEarningsCallAnalysis: null } : {}),
    };
    const embeds = traits.included !== "absent" && Object.keys(wanted).length > 0;
    const data = shown(row.fields, resource.COMPANY, query, traits, companyRules(traits));
    return found(data, embeds ? { included: wanted } : {});
  };

  const byInput = (input: string): Found => {
    const names = ["id", "domain", "websiteUrl", "mainStockSymbol", "professionalNetworkUrl", "fundingDataUrl"];
    return profile([...world.companies.values()].find(({ fields }) => names.some((name) => fields[name] === input)));
  };

  const ofCompany = (name: resource.CompanyList, id: string): Found => {
    const rows = world.ofCompany[name].get(id);
    if (rows === undefined) return notFound("company");
    const fields = resource.OF_COMPANY[name];
    const route = {
      fields,
      rows: [...rows.values()],
      sortBy: null,
      largest: largestOfCompany ?? largest,
      withheld: {},
    };
    return page(route, () => undefined, true);
  };

  const [resourceName = "", id, sub] = path;
  switch (resourceName) {
    case "account-insights":
      return insightRoute(workspace, query);
    case "accounts": {
      if (id !== undefined) return detail(world.accounts, id, resource.ACCOUNT, "account");
      const route = list(world.accounts, [], resource.ACCOUNT, "mainScore");
      return page(route, (rows) => accountRelations(rows, false), true);
    }
    case "contacts":
      if (id !== undefined) return detail(world.contacts, id, resource.CONTACT, "contact");
      return page(
        list(world.contacts, CONTACT_DATES, resource.CONTACT, "inCurrentRoleSince"),
        () => undefined,
        traits.credits.usageOnContacts,
      );
    case "signals":
      if (id === "counts") return counts();
      if (id !== undefined) return detail(world.signals, id, resource.SIGNAL, "signal");
      return page(list(world.signals, SIGNAL_DATES, resource.SIGNAL, "date"), () => undefined, true);
    case "companies": {
      if (id === "by-input" && sub !== undefined) return byInput(sub);
      if (id === undefined) return notFound("route");
      if (sub === undefined) return profile(world.companies.get(id));
      const name = resource.COMPANY_LISTS.find((each) => each === sub);
      return name === undefined ? notFound("route") : ofCompany(name, id);
    }
    case "usage":
      return usageRoutes(workspace, id, query);
    default:
      return notFound("route");
  }
};
