// What the mirror must hold when the service rests: its truth as the tables of docs/DATA.md, records keyed as the tables are.
import { insightProfile } from "./insight-route.ts";
import type { Fields } from "./json-text.ts";
import * as resource from "./resources.ts";
import type { SecondServer } from "./service.ts";

export interface ExpectedTable {
  readonly key: readonly string[];
  readonly fields: readonly resource.Field[];
  readonly rows: ReadonlyMap<string, Fields>;
  /** Fields that the mirror may lack: the service shows them in no answer that must be asked for. */
  readonly optional: ReadonlySet<string>;
  /** Rows whose optional fields may hold an earlier value: answers since then did not ask for them. */
  readonly keepsOld: (key: string) => boolean;
  /** Records were asked for field by field: what API.md does not list was not among them. */
  readonly named: boolean;
  /** Rows beyond the expected ones are no fault where this says so. */
  readonly mayHold: (key: string) => boolean;
}

export interface Following {
  /** Inputs configured besides tracked accounts. */
  readonly inputs: readonly string[];
  /** Opt-in fields that were asked for, e.g. `news_articles.articleBody`. */
  readonly content: readonly string[];
}

const kind = (name: string, kind: resource.Kind): resource.Field => ({ name, kind, required: false, optIn: false });
const OWNER = [kind("id", "text"), kind("data", "object")];
const INPUT = [kind("input", "text"), kind("companyId", "text"), kind("status", "text")];
const INSIGHT = [
  kind("accountId", "whole"),
  kind("status", "text"),
  ...["profile", "summary", "research", "swotAnalysis", "value"].map((name) => kind(name, "object")),
];
const TABLE_OF = {
  "news-articles": "news_articles",
  "job-openings": "job_openings",
  "earnings-calls": "earnings_calls",
  filings: "filings",
} as const;

/** Without the opt-in fields that nobody asked for. */
const visible = (
  record: Fields,
  table: string,
  fields: readonly resource.Field[],
  content: readonly string[],
): Fields => {
  const unasked = fields.filter(({ name, optIn }) => optIn && !content.includes(`${table}.${name}`));
  const hidden = new Set(unasked.map(({ name }) => name));
  return Object.fromEntries(Object.entries(record).filter(([name]) => !hidden.has(name)));
};

const table = (
  key: readonly string[],
  fields: readonly resource.Field[],
  rows: Iterable<readonly [string, Fields]>,
  more: Partial<Pick<ExpectedTable, "optional" | "keepsOld" | "named" | "mayHold">> = {},
): ExpectedTable => ({
  key,
  fields,
  rows: new Map(rows),
  optional: new Set(),
  keepsOld: () => false,
  named: false,
  mayHold: () => false,
  ...more,
});

/** Fields of signals that only their details show, and that no credit is spent on unless content is asked for. */
const optionalOfSignals = ({ traits }: SecondServer, contentAsked: boolean): ReadonlySet<string> => {
  const { signalSources, signalContent } = traits.records;
  const detailed = contentAsked && signalContent === "detail";
  return new Set([
    ...(contentAsked ? [] : ["fullContent"]),
    ...(signalSources === "detail" && !detailed ? ["sources"] : []),
  ]);
};

export const inputMatch = ({ world }: SecondServer, input: string): Fields | undefined => {
  const names = ["id", "domain", "websiteUrl", "mainStockSymbol", "professionalNetworkUrl", "fundingDataUrl"];
  return [...world.companies.values()].find(({ fields }) => names.some((name) => fields[name] === input))?.fields;
};

/** Companies whose records the mirror must hold: those of tracked accounts and of inputs. */
export const followedCompanies = (server: SecondServer, { inputs }: Following): readonly string[] => {
  const tracked = [...server.world.accounts.values()].map(({ fields }) => String(fields.companyId ?? ""));
  const found = inputs.map((input) => String(inputMatch(server, input)?.id ?? ""));
  return [...new Set([...tracked, ...found])].filter((id) => server.world.companies.has(id));
};

export const expectedTables = (server: SecondServer, following: Following): Readonly<Record<string, ExpectedTable>> => {
  const { world, traits } = server;
  const { content } = following;
  const companies = followedCompanies(server, following);
  const isNamed = (table: string) => content.some((field) => field.startsWith(`${table}.`));
  const unfollowed = (id: string) => !companies.includes(id);
  const embeds = traits.included !== "absent" && traits.included !== "refused";
  const owners = new Set([...world.accounts.values()].map(({ fields }) => String(fields.ownerId ?? "")));
  const accounts = [...world.accounts.values()];
  const plain = (
    table: string,
    rows: Iterable<readonly [string, { fields: Fields }]>,
    fields: readonly resource.Field[],
  ) => [...rows].map(([key, row]) => [key, visible(row.fields, table, fields, content)] as const);
  const tracked = new Set(accounts.map((row) => String(row.fields.companyId)));
  const ofCompany = resource.COMPANY_LISTS.map((name) => {
    const fields = resource.OF_COMPANY[name];
    const rows = companies.flatMap((id) =>
      plain(TABLE_OF[name], world.ofCompany[name].get(id) ?? [], fields).map(
        ([key, record]) => [`${id}|${key}`, { ...record, companyId: id }] as const,
      ),
    );
    const mayHold = (key: string) => unfollowed(key.slice(0, key.lastIndexOf("|")));
    return [
      TABLE_OF[name],
      table(["company_id", "id"], fields, rows, { named: isNamed(TABLE_OF[name]), mayHold }),
    ] as const;
  });
  return {
    accounts: table(["id"], resource.ACCOUNT, plain("accounts", world.accounts, resource.ACCOUNT)),
    owners: table(
      ["id"],
      OWNER,
      embeds
        ? [...world.owners]
            .filter(([id]) => owners.has(id))
            .map(([id, { fields }]) => [id, { id, data: fields }] as const)
        : [],
      { mayHold: (id) => world.owners.has(id) },
    ),
    contacts: table(["id"], resource.CONTACT, plain("contacts", world.contacts, resource.CONTACT)),
    signals: table(["id"], resource.SIGNAL, plain("signals", world.signals, resource.SIGNAL), {
      // `sources` must be named to be certain of them, and then every other field is named too.
      named: true,
      optional: optionalOfSignals(server, content.includes("signals.fullContent")),
    }),
    companies: table(
      ["id"],
      resource.COMPANY,
      plain(
        "companies",
        [...world.companies].filter(([id]) => !unfollowed(id)),
        resource.COMPANY,
      ),
      // A profile that is asked for by id names its fields (docs/decisions/fields.md).
      // Those of accounts come embedded, where fields cannot be named.
      {
        optional: new Set(["contactDataUrl"]),
        keepsOld: (id) => embeds && tracked.has(id),
        named: true,
        mayHold: unfollowed,
      },
    ),
    company_inputs: table(
      ["input"],
      INPUT,
      following.inputs.map((input) => {
        const found = inputMatch(server, input);
        return [input, { input, companyId: found?.id ?? null, status: found ? "found" : "not_found" }] as const;
      }),
    ),
    account_insights: table(
      ["account_id"],
      INSIGHT,
      accounts.map((row) => {
        const sections = world.insights.get(row.key);
        const own = { accountId: row.fields.id ?? null, status: sections ? "found" : "not_found" };
        return [row.key, { ...own, ...(sections ? { profile: insightProfile(row), ...sections } : {}) }] as const;
      }),
    ),
    ...Object.fromEntries(ofCompany),
  };
};
