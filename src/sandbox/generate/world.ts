// Generates all rows of a sandbox (companies, accounts, contacts, signals, public data) and writes them into a warehouse. The same seed,
// number of accounts and `now` give the same rows.
import type { TableName } from "../../catalog/tables.ts";
import { timeMs } from "../../core/time.ts";
import type { Database } from "../../warehouse/duckdb/database.ts";
import { createRandom, type Random } from "../random.ts";
import { type Activity, accountRow, generateOwners, insightRow } from "./accounts.ts";
import { contactRows } from "./contacts.ts";
import { type Firm, generateFirms } from "./firms.ts";
import { DAY_MS, iso, loadRows, type Row } from "./load-rows.ts";
import { moreEvents, publicData } from "./public-data.ts";
import { type BusinessEvent, signalRow } from "./signals.ts";

export interface WorldOptions {
  readonly seed: number;
  /** Tracked accounts. */
  readonly accounts: number;
  /** ms since the epoch; all times are earlier. */
  readonly now: number;
  /** Numeric ids above 2^53, as some services have them. */
  readonly bigIds: boolean;
}

export interface World {
  readonly organizationId: string;
}

/** Organization of a seed, without generating anything. */
export const organizationOf = (seed: number): string => `org_${createRandom(`${seed}/organization`).id(14)}`;

/** Ids that grow with small random gaps. */
export const growingIds = (random: Random, first: bigint): (() => string) => {
  let last = first;
  return () => {
    last += BigInt(random.int(1, 9));
    return String(last);
  };
};

/** First ids of tables with numeric ids. Big ones look like snowflake ids. */
const firstIds = (big: boolean) => ({
  accounts: big ? 1_812_000_000_000_000_000n : 4_100_000n,
  signals: big ? 1_815_000_000_000_000_000n : 73_100_000n,
  calls: big ? 1_813_000_000_000_000_000n : 510_000n,
  filings: big ? 1_814_000_000_000_000_000n : 880_000n,
});

/** Takes the rows out of the list, in order of time, with growing ids; ties keep their order. */
function* numbered(rows: Row[], field: string, nextId: () => string): Iterable<Row> {
  const dated = rows.splice(0).map((row) => ({ row, at: String(row[field]) }));
  // The first last: a row taken off the end is free once it is written.
  dated.sort((left, right) => (left.at < right.at ? -1 : left.at > right.at ? 1 : 0)).reverse();
  for (let next = dated.pop(); next !== undefined; next = dated.pop()) yield { id: nextId(), ...next.row };
}

interface Plan {
  readonly firm: Firm;
  readonly createdAt: number;
}

/** Accounts in the order in which they were created. */
const accountPlans = (seed: string, firms: readonly Firm[], count: number, now: number): readonly Plan[] =>
  firms
    .slice(0, count)
    .map((firm) => {
      const random = createRandom(`${seed}/account/${firm.index}`);
      return { firm, createdAt: now - random.int(30, 900) * DAY_MS - random.int(0, 86_399_999) };
    })
    .sort((left, right) => left.createdAt - right.createdAt);

const activityOf = (signals: readonly Row[], contacts: readonly Row[], now: number): Activity => {
  const recent = iso(now - 60 * DAY_MS);
  const created = signals.map((signal) => timeMs(String(signal.createdAt)) ?? 0);
  return {
    recentSignals: signals.filter((signal) => String(signal.date) > recent).length,
    latestAt: Math.max(0, ...created),
    peopleUpdates: contacts
      .filter((contact) => contact.changeType !== undefined)
      .slice(0, 3)
      .map((contact) => `${contact.firstName ?? ""} ${contact.lastName ?? ""}: ${contact.changeType}`.trim()),
    topNews: signals
      .filter((signal) => signal.type === "relevant-news")
      .slice(0, 3)
      .map((signal) => String(signal.headline)),
  };
};

/** The rows, which the list holds no longer: each table's memory is free once it is written. */
const taken = (rows: Row[]): readonly Row[] => rows.splice(0);

type Write = (table: TableName, rows: Iterable<Row>) => Promise<void>;

/** Generates the companies' public data and writes what needs no order. Returns the rest. */
const publish = async (write: Write, seed: string, firms: readonly Firm[], now: number) => {
  const rows = { companies: <Row[]>[], news: <Row[]>[], jobs: <Row[]>[] };
  const rest = { events: new Map<number, readonly BusinessEvent[]>(), calls: <Row[]>[], filings: <Row[]>[] };
  for (const firm of firms) {
    const { company, news, jobs, calls, filings, events } = publicData(seed, firm, now);
    rows.companies.push(company);
    rows.news.push(...news);
    rows.jobs.push(...jobs);
    rest.calls.push(...calls);
    rest.filings.push(...filings);
    rest.events.set(firm.index, events);
  }
  await write("companies", taken(rows.companies));
  await write("news_articles", taken(rows.news));
  await write("job_openings", taken(rows.jobs));
  return rest;
};

/** Generates and writes everything, one table per transaction. Returns the facts that the routes need. */
export const generateWorld = async (database: Pick<Database, "transaction">, options: WorldOptions): Promise<World> => {
  const { accounts, now } = options;
  const seed = String(options.seed);
  const at = iso(now);
  const organizationId = organizationOf(options.seed);
  // One in ten companies is untracked, so that users can follow it by domain, symbol or address.
  const firms = generateFirms(seed, accounts + Math.max(3, Math.ceil(accounts / 10)));
  const owners = generateOwners(seed, accounts);
  const ownerIds = owners.map((owner) => String(owner.id));
  const first = firstIds(options.bigIds);
  const random = createRandom(`${seed}/ids`);
  const accountId = growingIds(random, first.accounts);

  const write: Write = (table, rows) => database.transaction((tx) => loadRows(tx, table, rows, at));

  const { events: published, calls, filings } = await publish(write, seed, firms, now);
  const rows = { accounts: <Row[]>[], account_insights: <Row[]>[], contacts: <Row[]>[], signals: <Row[]>[] };
  for (const { firm, createdAt } of accountPlans(seed, firms, accounts, now)) {
    const own = createRandom(`${seed}/workspace/${firm.index}`);
    const account = { id: accountId(), organizationId, createdAt };
    const known = published.get(firm.index) ?? [];
    const events = [...known, ...moreEvents(own, firm, known.length, now)];
    const subject = { organizationId, accountId: account.id, domain: firm.domain, slots: firm.slots };
    const signals = events.map((event) => signalRow(own, subject, event, now));
    const contacts = contactRows(seed, own, firm, account, now);
    const activity = activityOf(signals, contacts, now);
    rows.accounts.push(accountRow(own, firm, account, ownerIds, activity, now));
    rows.account_insights.push(insightRow(own, firm, account.id, activity));
    rows.contacts.push(...contacts);
    rows.signals.push(...signals);
  }
  published.clear();
  await write("owners", owners);
  await write("accounts", taken(rows.accounts));
  await write("account_insights", taken(rows.account_insights));
  await write("contacts", taken(rows.contacts));
  await write("signals", numbered(rows.signals, "createdAt", growingIds(random, first.signals)));
  await write("earnings_calls", numbered(calls, "happenedAt", growingIds(random, first.calls)));
  await write("filings", numbered(filings, "filingDate", growingIds(random, first.filings)));
  return { organizationId };
};
