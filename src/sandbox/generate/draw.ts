// Draws a company from the warehouse, in the generator's form.
import { z } from "zod";
import type { Sql } from "../../warehouse/duckdb/statements.ts";
import { INDUSTRIES } from "../content/industries.ts";
import { personNames } from "../content/person-names.ts";
import { hash, type Random } from "../random.ts";
import { type Firm, PLACES, slotsFor } from "./firms.ts";

/** Statements of one transaction. */
export type Draw = Pick<Sql, "query" | "run" | "append">;

/** A tracked account with facts about its company. */
export interface Tracked {
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

export const trackedAccount = async (tx: Draw, random: Random): Promise<Tracked | undefined> => {
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

export const untrackedFirm = async (tx: Draw, random: Random): Promise<Firm | undefined> => {
  const rows = await tx.query(
    `SELECT id, name, domain, industry, number_of_employees AS employees, headquarters_location AS headquarters
     FROM ${UNTRACKED} ${AT_RANDOM(UNTRACKED, "u.id")}`,
    [String(random.next())],
    firmRow,
  );
  return rows.map(firmOf)[0];
};
