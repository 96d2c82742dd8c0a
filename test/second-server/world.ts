// The truth of one service: its records now, and how they change.
import { createIds } from "./ids.ts";
import type { Fields, Json } from "./json-text.ts";
import { type Chance, chanceOf } from "./random.ts";
import { inventRecord, inventValue } from "./records.ts";
import * as resource from "./resources.ts";
import { writeTime } from "./times.ts";
import type { Traits } from "./traits.ts";

export interface Row {
  readonly key: string;
  /** Grows with every row made. */
  readonly born: number;
  /** By the service's clock, ms. */
  readonly madeAt?: number;
  readonly fields: Fields;
}
export type Rows = Map<string, Row>;

export interface World {
  readonly accounts: Rows;
  readonly contacts: Rows;
  readonly signals: Rows;
  readonly companies: Rows;
  readonly owners: Rows;
  /** Insight sections by account id; an account without them answers not_found. */
  readonly insights: Map<string, Fields>;
  readonly ofCompany: Readonly<Record<resource.CompanyList, Map<string, Rows>>>;
  /** Records that left their list, by the table they were in and their id. */
  readonly left: ReadonlyMap<Rows, Rows>;
  /** Grows with every change. */
  version(): number;
  /** Changes something at random. `announced`: only changes that the service shows by a date or a new row. */
  change(chance: Chance, announced: boolean): void;
}

const SECTIONS = ["summary", "research", "swotAnalysis", "value"];
const RECENT_MS = 60_000;

export const createWorld = (traits: Traits, now: () => number): World => {
  const chance = chanceOf(`${traits.seed}/world`);
  const ids = createIds(traits, chance.named("ids"));
  const { records, strangers } = traits;
  let born = 0;
  let version = 0;
  const accounts: Rows = new Map();
  const contacts: Rows = new Map();
  const signals: Rows = new Map();
  const companies: Rows = new Map();
  const owners: Rows = new Map();
  const insights = new Map<string, Fields>();
  const left = new Map<Rows, Rows>([accounts, contacts, signals].map((rows) => [rows, new Map()]));
  const ofCompany = {
    "news-articles": new Map<string, Rows>(),
    "job-openings": new Map<string, Rows>(),
    "earnings-calls": new Map<string, Rows>(),
    filings: new Map<string, Rows>(),
  };

  const put = (rows: Rows, fields: Fields): Row => {
    const row = { key: String(fields.id), born: born++, madeAt: now(), fields };
    rows.set(row.key, row);
    version += 1;
    return row;
  };
  const alter = (rows: Rows, row: Row, more: Fields): void => {
    rows.set(row.key, { ...row, fields: { ...row.fields, ...more } });
    version += 1;
  };
  const invent = (fields: readonly resource.Field[], own: Fields): Fields =>
    inventRecord(fields, own, chance, traits, now());
  const moment = (): string => writeTime(now(), traits.times.moment, chance.int(0, 999_999));
  const dated = (age: number): Fields => {
    const at = now() - Math.floor(chance.next() * age);
    const created = at - Math.floor(chance.next() * 86_400_000 * 30);
    const noise = chance.int(0, 999_999);
    const { moment: form } = traits.times;
    return { createdAt: writeTime(created, form, noise), updatedAt: writeTime(at, form, noise) };
  };

  const addItem = (list: resource.CompanyList, companyId: string): void => {
    const rows = ofCompany[list].get(companyId);
    const fields = resource.OF_COMPANY[list];
    if (rows === undefined) return;
    const numeric = fields[0]?.kind === "whole";
    const purpose = numeric && records.idsPerCompany ? `${list}/${companyId}` : list;
    const id = numeric ? ids.number(purpose) : ids.text(list.slice(0, 2));
    const item: Record<string, Json> = { ...invent(fields, { id, companyId }) };
    if (!records.companyIdOnItems) delete item.companyId;
    put(rows, item);
  };

  const addCompany = (): string => {
    const id = ids.text("co");
    const domain = `company-${born}.example`;
    const own = { id, domain, websiteUrl: `https://www.${domain}/`, mainStockSymbol: `S${born}` };
    put(companies, invent(resource.COMPANY, own));
    for (const list of resource.COMPANY_LISTS) {
      ofCompany[list].set(id, new Map());
      const many = chance.often(0.05) ? traits.pages.largest * 2 + 1 : 4;
      for (let left = chance.int(0, Math.min(many, 60)); left > 0; left -= 1) addItem(list, id);
    }
    return id;
  };

  const someCompany = (): Json | undefined => {
    if (chance.often(records.withoutCompany)) return records.absent === "null" ? null : undefined;
    if (chance.often(records.missingCompanies)) return ids.text("gone");
    const [known] = companies.keys();
    return known !== undefined && chance.often(records.sharedCompanies) ? known : addCompany();
  };

  const addContact = (accountId: Json): void => {
    put(contacts, invent(resource.CONTACT, { id: ids.text("ct"), accountId, organizationId: "org" }));
  };
  const addSignal = (accountId: Json, age: number): void => {
    const own = { accountId, organizationId: "org", type: chance.pick(resource.SIGNAL_TYPES), ...dated(age) };
    put(signals, invent(resource.SIGNAL, { id: ids.number("sg"), ...own }));
  };

  const addInsight = (id: string): void => {
    const sections = SECTIONS.filter(() => chance.often(0.8)).map((name) => [name, { note: `${chance.int(0, 1e6)}` }]);
    insights.set(id, Object.fromEntries(sections));
  };

  const addAccount = (age: number): void => {
    const companyId = someCompany();
    const owner = chance.often(0.7) ? `user-${chance.int(1, 4)}` : undefined;
    if (owner !== undefined && !owners.has(owner)) put(owners, { id: owner, name: owner, mail: `${owner}@x.example` });
    const own: Record<string, Json> = { id: ids.number("ac"), organizationId: "org", ...dated(age) };
    if (companyId !== undefined) own.companyId = companyId;
    own.type = chance.pick(resource.ACCOUNT_TYPES);
    own.domain = `account-${born}.example`;
    const record: Record<string, Json> = { ...invent(resource.ACCOUNT, own) };
    if (companyId === undefined) delete record.companyId;
    if (owner === undefined) delete record.ownerId;
    else record.ownerId = owner;
    const { key } = put(accounts, record);
    if (!chance.often(records.insightsMissing)) addInsight(key);
    for (let left = chance.int(0, 10); left > 0; left -= 1) addContact(record.id ?? null);
    for (let left = chance.int(0, 16); left > 0; left -= 1) addSignal(record.id ?? null, age);
  };

  const [least, most] = records.accounts;
  for (let left = chance.int(least, most); left > 0; left -= 1) addAccount(86_400_000 * 100);

  const some = (rows: Rows, by: Chance): Row | undefined => [...rows.values()][by.int(0, Math.max(0, rows.size - 1))];
  const drop = (rows: Rows, key: string): void => {
    const row = rows.get(key);
    if (row === undefined) return;
    left.get(rows)?.set(key, row);
    rows.delete(key);
    version += 1;
  };
  const dropAccount = ({ key, fields }: Row): void => {
    drop(accounts, key);
    insights.delete(key);
    for (const rows of [contacts, signals]) {
      for (const [id, row] of rows) if (String(row.fields.accountId) === String(fields.id)) drop(rows, id);
    }
  };
  /** The value of one field is another one. */
  const redraw = (fields: readonly resource.Field[], by: Chance): Fields => {
    const free = fields.filter(({ name, optIn }) => !optIn && !FIXED.test(name));
    const field = free[by.int(0, free.length - 1)];
    return field === undefined ? {} : { [field.name]: inventValue(field, by, traits, now()) };
  };

  const changeAccounts = (by: Chance, announced: boolean) => {
    const row = some(accounts, by);
    if (by.often(0.25)) return addAccount(RECENT_MS);
    if (row === undefined) return;
    if (by.often(0.2) && accounts.size > 3) return dropAccount(row);
    alter(accounts, row, { ...redraw(resource.ACCOUNT, by), ...(announced ? { updatedAt: moment() } : {}) });
    if (announced && insights.has(row.key)) addInsight(row.key);
  };
  const changeSignals = (by: Chance, announced: boolean) => {
    const row = some(signals, by);
    const account = some(accounts, by);
    if (account !== undefined && by.often(0.4)) return addSignal(account.fields.id ?? null, RECENT_MS);
    if (row === undefined) return;
    if (by.often(0.3) && signals.size > 3) return drop(signals, row.key);
    const changed = redraw(resource.SIGNAL, by);
    // What only the signal's own route returns is read again when its date changes, by contract.
    const inDetail =
      ("sources" in changed && records.signalSources === "detail") ||
      ("fullContent" in changed && records.signalContent === "detail");
    alter(signals, row, { ...changed, ...(announced || inDetail ? { updatedAt: moment() } : {}) });
  };
  const changeContacts = (by: Chance, announced: boolean) => {
    const row = some(contacts, by);
    const account = some(accounts, by);
    if (account !== undefined && by.often(0.3)) return addContact(account.fields.id ?? null);
    if (row === undefined) return;
    if (by.often(0.3) && contacts.size > 3) return drop(contacts, row.key);
    alter(contacts, row, { ...redraw(resource.CONTACT, by), ...(announced ? { lastChangeDetectedOn: moment() } : {}) });
  };
  /** The company's records are those of another one now, under ids that are not told. */
  const merge = ({ key }: Row): void => {
    drop(companies, key);
    for (const list of resource.COMPANY_LISTS) ofCompany[list].delete(key);
  };
  const changeCompany = (by: Chance) => {
    const row = some(companies, by);
    if (row === undefined) return;
    if (strangers.merges && by.named("merge").often(0.2)) return merge(row);
    if (by.often(0.3)) return alter(companies, row, redraw(resource.COMPANY, by));
    const list = by.pick(resource.COMPANY_LISTS);
    const rows = ofCompany[list].get(row.key) ?? new Map<string, Row>();
    const item = some(rows, by);
    if (item === undefined || by.often(0.4)) return addItem(list, row.key);
    if (by.often(0.4)) return drop(rows, item.key);
    alter(rows, item, redraw(resource.OF_COMPANY[list], by));
  };

  return {
    accounts,
    contacts,
    signals,
    companies,
    owners,
    insights,
    ofCompany,
    left,
    version: () => version,
    change: (by, announced) => {
      const kind = announced
        ? by.pick(["accounts", "signals"])
        : by.pick(["accounts", "signals", "contacts", "company"]);
      if (kind === "accounts") changeAccounts(by, announced);
      else if (kind === "signals") changeSignals(by, announced);
      else if (kind === "contacts") changeContacts(by, announced);
      else changeCompany(by);
    },
  };
};

/** Fields that identify, link or date a record: they change only on purpose. */
const FIXED =
  /^(id|organizationId|companyId|ownerId|accountId|createdAt|updatedAt|domain|websiteUrl|mainStockSymbol|type|lastChangeDetectedOn)$/;
