// Reads the records related to those of a response, for the parameter `include` (API.md, "Resources": relations; "Endpoints": values of
// `include`).

import { z } from "zod";
import { tableSpec } from "../catalog/tables.ts";
import { memberJson, objectJson, valueJson } from "../warehouse/read/record-text.ts";
import type { Embedded } from "./envelope.ts";
import type { Params } from "./query/params.ts";
import { defaultFields } from "./query/params.ts";
import { amongTexts, type Reader, readRecords } from "./reader.ts";

/** Value of `include` → table of the related records. */
const RELATED: Readonly<Record<string, "companies" | "owners" | "accounts">> = {
  company: "companies",
  owner: "owners",
  account: "accounts",
};

/** Value of `include` → column of the parent that names the related record. */
export const LINK_COLUMNS: Readonly<Record<string, string>> = {
  company: "company_id",
  owner: "owner_id",
  account: "account_id",
};

const ownerRow = z.object({ object: z.string(), key: z.string() });

/** Owners as the service embedded them; `data` keeps the whole user. */
const readOwners = (reader: Reader, ids: readonly string[]): Promise<Embedded["records"]> => {
  const idField = tableSpec("owners").fields.filter((field) => field.name === "id");
  const fallback = objectJson(idField.map((field) => memberJson(field.name, valueJson(field, "t"))));
  return reader.query(
    `SELECT coalesce(CAST(t.data AS VARCHAR), ${fallback}) AS object, t.id AS key FROM main.owners AS t
     WHERE list_contains(string_split($1, ','), t.id) ORDER BY t.id`,
    [ids.join(",")],
    ownerRow,
  );
};

/** Records linked by the rows of a page, by `include` value; `kind`: whether the parent is one record or a list. */
export const readLinked = async (
  reader: Reader,
  include: string,
  ids: readonly string[],
  kind: "record" | "list",
): Promise<Embedded> => {
  const many = RELATED[include];
  if (many === undefined) throw new TypeError(`no related record is called ${include}`);
  const records =
    many === "owners"
      ? await readOwners(reader, ids)
      : await readRecords(reader, { table: many, where: amongTexts("t.id", ids) });
  return { one: include, many, kind, records };
};

/** `contacts` and `signals` of one account, best and latest first, up to the limits. */
export const readAccountLists = async (
  reader: Reader,
  accountId: string,
  params: Params,
): Promise<readonly Embedded[]> => {
  const wanted = params.list("include");
  const lists: Embedded[] = [];
  const ofAccount = amongTexts("t.account_id", [accountId]);
  if (wanted.includes("contacts")) {
    const contacts = await readRecords(reader, {
      table: "contacts",
      where: ofAccount,
      order: "t.main_score DESC NULLS LAST, t.id",
      limit: params.number("contactsLimit"),
    });
    lists.push({ one: "contact", many: "contacts", kind: "list", records: contacts });
  }
  if (wanted.includes("signals")) {
    const signals = await readRecords(reader, {
      table: "signals",
      fields: defaultFields("signals", false),
      where: ofAccount,
      order: "t.date DESC, t.id DESC",
      limit: params.number("signalsLimit"),
    });
    lists.push({ one: "signal", many: "signals", kind: "list", records: signals });
  }
  return lists;
};

/** `latestEarningsCall` and `latestEarningsCallAnalysis` of a company; a company without calls has neither. */
export const readLatestCall = async (
  reader: Reader,
  companyId: string,
  include: readonly string[],
): Promise<readonly Embedded[]> => {
  const latest = { where: amongTexts("t.company_id", [companyId]), order: "t.happened_at DESC NULLS LAST, t.id DESC" };
  const parts: Embedded[] = [];
  if (include.includes("latestEarningsCall")) {
    const records = await readRecords(reader, { table: "earnings_calls", ...latest, limit: 1 });
    parts.push({ one: "latestEarningsCall", many: "latestEarningsCalls", kind: "record", records });
  }
  if (include.includes("latestEarningsCallAnalysis")) {
    const analyses = await reader.query(
      `SELECT CAST(t.generated_analysis AS VARCHAR) AS object, CAST(t.id AS VARCHAR) AS key
       FROM main.earnings_calls AS t WHERE t.company_id = $1 ORDER BY ${latest.order} LIMIT 1`,
      [companyId],
      z.object({ object: z.string().nullable(), key: z.string() }),
    );
    const records = analyses.flatMap(({ object, key }) => (object === null ? [] : [{ object, key }]));
    parts.push({ one: "latestEarningsCallAnalysis", many: "latestEarningsCallAnalyses", kind: "record", records });
  }
  return parts;
};
