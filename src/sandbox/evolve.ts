// Changes the rows of a running sandbox, so that a mirror has something to sync: new signals, career changes, openings, deleted records.
// The seed alone decides the order of changes; their times come from the clock. Every change is one transaction.
import { z } from "zod";
import type { TableName } from "../catalog/tables.ts";
import type { Sql } from "../warehouse/duckdb/statements.ts";
import { personNames } from "./content/person-names.ts";
import { fill } from "./content/speech.ts";
import { INDUSTRIES, nextTitle } from "./content/words.ts";
import { accountRow, scoreOf } from "./generate/accounts.ts";
import { contactRow } from "./generate/contacts.ts";
import { type Firm, PLACES, slotsFor } from "./generate/firms.ts";
import { day, iso, loadRows, type Row } from "./generate/load-rows.ts";
import { jobOpening, newsFor } from "./generate/public-data.ts";
import { type BusinessEvent, businessEvent, signalRow } from "./generate/signals.ts";
import { growingIds } from "./generate/world.ts";
import { createRandom, hash, type Random } from "./random.ts";

// Draws a company from the warehouse, in the generator's form.

/** Statements of one transaction. */
type Draw = Pick<Sql, "query" | "run" | "append">;

/** A tracked account with facts about its company. */
interface Tracked {
  readonly id: string;
  /** True when it is linked to a company with public data. */
  readonly hasCompany: boolean;
  readonly firm: Firm;
}

const firmRow = z.object({
  id: z.string().nullable(),
  name: z.string().nullable(),
  domain: z.string().nullable(),
  industry: z.string().nullable(),
  employees: z.number().nullable(),
  headquarters: z.string().nullable(),
});

const firmOf = (row: z.infer<typeof firmRow>): Firm => {
  const name = row.name ?? row.domain ?? "The company";
  const [home] = PLACES;
  const place = PLACES.find(({ city }) => row.headquarters?.startsWith(`${city},`)) ?? home;
  const [first] = INDUSTRIES;
  const industry = INDUSTRIES.find((candidate) => candidate.name === row.industry) ?? first;
  if (place === undefined || industry === undefined)
    throw new TypeError("the tables of places and industries are empty");
  const people = personNames(place.locale, hash(name), 3);
  return {
    index: 0,
    id: row.id ?? "",
    name,
    domain: row.domain ?? "company.example",
    industry,
    place,
    employees: row.employees ?? 100,
    people,
    rivals: ["Another Company"],
    slots: slotsFor(name, row.industry),
  };
};

/** Row at a random position in an ordered set: the same random number finds the same row. */
const AT_RANDOM = (source: string, order: string): string =>
  `ORDER BY ${order} OFFSET CAST(floor(CAST($1 AS DOUBLE) * (SELECT count(*) FROM ${source})) AS BIGINT) LIMIT 1`;

const trackedAccount = async (tx: Draw, random: Random): Promise<Tracked | undefined> => {
  const rows = await tx.query(
    `SELECT CAST(id AS VARCHAR) AS account, company_id AS id, name, domain, industry,
       number_of_employees AS employees, headquarters_location AS headquarters
     FROM main.accounts ${AT_RANDOM("main.accounts", "main.accounts.id")}`,
    [String(random.next())],
    firmRow.extend({ account: z.string() }),
  );
  return rows.map((row) => ({ id: row.account, hasCompany: row.id !== null, firm: firmOf(row) }))[0];
};

const UNTRACKED = `(SELECT * FROM main.companies AS c
  WHERE NOT EXISTS (FROM main.accounts AS a WHERE a.company_id = c.id)) AS u`;

const untrackedFirm = async (tx: Draw, random: Random): Promise<Firm | undefined> => {
  const rows = await tx.query(
    `SELECT id, name, domain, industry, number_of_employees AS employees, headquarters_location AS headquarters
     FROM ${UNTRACKED} ${AT_RANDOM(UNTRACKED, "u.id")}`,
    [String(random.next())],
    firmRow,
  );
  return rows.map(firmOf)[0];
};

/** Change of one row. */
export interface Change {
  readonly kind: "insert" | "update" | "delete";
  readonly table: TableName;
  /** Id of the row, as text. */
  readonly id: string;
}

export interface EvolveContext {
  readonly seed: number;
  readonly organizationId: string;
}

/** The part of a database that evolving needs. */
export interface EvolvingDatabase {
  query: Draw["query"];
  transaction<T>(work: (tx: Draw) => Promise<T>): Promise<T>;
}

interface Step {
  readonly tx: Draw;
  readonly random: Random;
  /** ms since the epoch. */
  readonly now: number;
  readonly changes: Change[];
  readonly nextAccountId: () => string;
  readonly nextSignalId: () => string;
  readonly organizationId: string;
}

const insert = async (step: Step, table: TableName, row: Row): Promise<void> => {
  await loadRows(step.tx, table, [row], iso(step.now));
  step.changes.push({ kind: "insert", table, id: String(row.id ?? row.accountId) });
};

/** Removes rows by a condition on `$1` and records them. */
const remove = async (step: Step, table: TableName, key: string, condition: string, value: string): Promise<void> => {
  const gone = await step.tx.query(
    `DELETE FROM main."${table}" WHERE ${condition} RETURNING CAST("${key}" AS VARCHAR) AS id`,
    [value],
    z.object({ id: z.string() }),
  );
  step.changes.push(...gone.map(({ id }) => ({ kind: "delete" as const, table, id })));
};

/** Refreshes the account: new score, new `updatedAt`, and sometimes a new insight. */
const touchAccount = async (step: Step, account: Tracked): Promise<void> => {
  const { random, now, tx } = step;
  const score = scoreOf(random.int(0, 6), random.int(5, 100));
  await tx.run(
    `UPDATE main.accounts SET main_score = CAST($1 AS DOUBLE), updated_at = CAST($2 AS TIMESTAMPTZ),
       last_refresh_at = CAST($2 AS TIMESTAMPTZ) WHERE id = CAST($3 AS BIGINT)`,
    [String(score), iso(now), account.id],
  );
  step.changes.push({ kind: "update", table: "accounts", id: account.id });
  if (!random.chance(0.3)) return;
  const insights = JSON.stringify({
    keyInsights: [fill("{company}: news about {product}.", account.firm.slots, random)],
  });
  const changed = await tx.run(
    "UPDATE main.account_insights SET summary = CAST($1 AS JSON) WHERE account_id = CAST($2 AS BIGINT)",
    [insights, account.id],
  );
  if (changed > 0) step.changes.push({ kind: "update", table: "account_insights", id: account.id });
};

const addSignal = async (step: Step, account: Tracked, event: BusinessEvent): Promise<void> => {
  const subject = {
    organizationId: step.organizationId,
    accountId: account.id,
    domain: account.firm.domain,
    slots: account.firm.slots,
  };
  await insert(step, "signals", { id: step.nextSignalId(), ...signalRow(step.random, subject, event, step.now) });
  await touchAccount(step, account);
};

type Operation = (step: Step) => Promise<void>;

const withAccount =
  (work: (step: Step, account: Tracked) => Promise<void>): Operation =>
  async (step) => {
    const account = await trackedAccount(step.tx, step.random);
    if (account !== undefined) await work(step, account);
  };

const newSignal = withAccount((step, account) => {
  const { random, now } = step;
  const type = random.pick(["press-release", "podcast", "media-document", "relevant-news"] as const);
  return addSignal(step, account, businessEvent(random, type, now, account.firm.slots));
});

const newArticle = withAccount(async (step, account) => {
  const { random, now } = step;
  const url = `https://news.example/live/${random.id(10)}`;
  const event = businessEvent(random, "relevant-news", now, account.firm.slots, [url]);
  if (account.hasCompany) await insert(step, "news_articles", newsFor(random, account.firm, event, url));
  if (random.chance(0.6)) await addSignal(step, account, event);
});

const newOpening = withAccount(async (step, account) => {
  const opening = jobOpening(step.random, account.firm, step.now, undefined);
  if (account.hasCompany) await insert(step, "job_openings", opening.row);
  if (step.random.chance(0.6)) await addSignal(step, account, opening.opened);
});

const rescore = withAccount(touchAccount);

const newContact = withAccount(async (step, account) => {
  const { random, now } = step;
  const [person = { first: "Alex", last: "Doe" }] = personNames(
    account.firm.place.locale,
    hash(`contact/${account.id}/${random.id(6)}`),
    1,
  );
  const row = contactRow(random, account.firm, account.id, step.organizationId, person, 9, now);
  await insert(step, "contacts", {
    ...row,
    changeType: "newJoiner",
    currentCompanyName: account.firm.name,
    inCurrentRoleSince: day(now),
    lastChangeDetectedOn: iso(now),
  });
});

/** A random row of a table, by a condition without parameters. */
const someId = async (step: Step, table: TableName, condition = "true"): Promise<string | undefined> => {
  const rows = await step.tx.query(
    `SELECT CAST(id AS VARCHAR) AS id FROM main."${table}" WHERE ${condition} ORDER BY id
     OFFSET CAST(floor(CAST($1 AS DOUBLE) * (SELECT count(*) FROM main."${table}" WHERE ${condition})) AS BIGINT) LIMIT 1`,
    [String(step.random.next())],
    z.object({ id: z.string() }),
  );
  return rows[0]?.id;
};

const careerChange: Operation = async (step) => {
  const { random, now, tx } = step;
  const id = await someId(step, "contacts");
  if (id === undefined) return;
  const [contact] = await tx.query(
    "SELECT current_title AS title, current_company_name AS company FROM main.contacts WHERE id = $1",
    [id],
    z.object({ title: z.string().nullable(), company: z.string().nullable() }),
  );
  const next = contact?.title === null || contact === undefined ? undefined : nextTitle(contact.title);
  const leaves = next === undefined || random.chance(0.35);
  await tx.run(
    `UPDATE main.contacts SET previous_title = current_title, previous_company_name = current_company_name,
       current_title = coalesce($1, current_title), current_company_name = coalesce($2, current_company_name),
       change_type = $3, in_current_role_since = CAST($4 AS TIMESTAMPTZ), last_change_detected_on = CAST($5 AS TIMESTAMPTZ)
     WHERE id = $6`,
    [
      leaves ? null : next,
      leaves ? "Another Company" : null,
      leaves ? "departure" : "promotion",
      day(now),
      iso(now),
      id,
    ],
  );
  step.changes.push({ kind: "update", table: "contacts", id });
};

const closeOpening: Operation = async (step) => {
  const id = await someId(step, "job_openings", "status = 'open'");
  if (id === undefined) return;
  await step.tx.run("UPDATE main.job_openings SET status = 'closed' WHERE id = $1", [id]);
  step.changes.push({ kind: "update", table: "job_openings", id });
};

const removeSome =
  (table: TableName): Operation =>
  async (step) => {
    const id = await someId(step, table);
    if (id !== undefined) await remove(step, table, "id", "CAST(id AS VARCHAR) = $1", id);
  };

const newAccount: Operation = async (step) => {
  const { random, now, organizationId } = step;
  const firm = await untrackedFirm(step.tx, random);
  if (firm === undefined) return newSignal(step);
  const id = step.nextAccountId();
  const activity = { recentSignals: 0, latestAt: now, peopleUpdates: [], topNews: [] };
  const owners = await step.tx.query("SELECT id FROM main.owners ORDER BY id", [], z.object({ id: z.string() }));
  const ownerIds = owners.map((owner) => owner.id);
  const row = accountRow(random, firm, { id, organizationId, createdAt: now }, ownerIds, activity, now);
  await insert(step, "accounts", { ...row, companyId: firm.id });
};

/** Removes the account and everything that belongs to it. */
const removeAccount: Operation = async (step) => {
  const id = await someId(step, "accounts");
  if (id === undefined) return;
  for (const table of ["signals", "contacts"] as const) {
    await remove(step, table, "id", "account_id = CAST($1 AS BIGINT)", id);
  }
  await remove(step, "account_insights", "account_id", "account_id = CAST($1 AS BIGINT)", id);
  await remove(step, "accounts", "id", "id = CAST($1 AS BIGINT)", id);
};

const OPERATIONS: readonly (readonly [weight: number, Operation])[] = [
  [26, newSignal],
  [12, newArticle],
  [10, newOpening],
  [12, rescore],
  [8, newContact],
  [14, careerChange],
  [6, closeOpening],
  [3, removeSome("job_openings")],
  [4, removeSome("contacts")],
  [3, removeSome("signals")],
  [1, newAccount],
  [1, removeAccount],
];

const TOTAL_WEIGHT = OPERATIONS.reduce((sum, [weight]) => sum + weight, 0);

const operation = (random: Random): Operation => {
  let rest = random.next() * TOTAL_WEIGHT;
  for (const [weight, candidate] of OPERATIONS) {
    rest -= weight;
    if (rest < 0) return candidate;
  }
  return newSignal;
};

/** A source of changes; each call makes one. `now` in ms since the epoch. */
export const createEvolution = async (
  database: EvolvingDatabase,
  context: EvolveContext,
): Promise<(now: number) => Promise<readonly Change[]>> => {
  const random = createRandom(`${context.seed}/evolve`);
  const highest = async (table: TableName): Promise<bigint> => {
    const rows = await database.query(
      `SELECT CAST(coalesce(max(id), 0) AS VARCHAR) AS id FROM main."${table}"`,
      [],
      z.object({ id: z.string() }),
    );
    return BigInt(rows[0]?.id ?? 0);
  };
  // Kept in memory, because the id of a deleted row must not be used again.
  const nextAccountId = growingIds(random, await highest("accounts"));
  const nextSignalId = growingIds(random, await highest("signals"));
  return (now) =>
    database.transaction(async (tx) => {
      const changes: Change[] = [];
      const { organizationId } = context;
      await operation(random)({ tx, random, now, changes, nextAccountId, nextSignalId, organizationId });
      return changes;
    });
};
