// The brief of an account: score and course, people, signals, openings, calls, filings, insights, what changed lately.
import { z } from "zod";
import { parseJson } from "../api/json/lossless-json.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { sqlText } from "../warehouse/duckdb/sql-files.ts";
import type { ReadSql } from "../warehouse/duckdb/statements.ts";

const id = z.union([z.number(), z.bigint()]);
const candidateRow = z.object({ account_id: id, name: z.string().nullable(), domain: z.string().nullable() });
export type AccountName = z.output<typeof candidateRow>;

const sectionRow = z.object({ section: z.string(), record: z.string() });

export type Brief =
  | { readonly status: "found"; readonly brief: JsonObject }
  | { readonly status: "several"; readonly candidates: readonly AccountName[] }
  | { readonly status: "not_found" };

/** True for a text that names this account and no other. */
const isExact = ({ account_id, name, domain }: AccountName, text: string): boolean =>
  [String(account_id), name, domain].some((known) => known?.toLowerCase() === text.toLowerCase());

/** The brief of the account with this id, domain or name. */
export const readBrief = async (sql: ReadSql, text: string): Promise<Brief> => {
  const found = await sql.query(sqlText("mcp/find-account.sql"), [text.trim()], candidateRow);
  const [first, second] = found;
  if (first === undefined) return { status: "not_found" };
  const isAmbiguous = second !== undefined && (!isExact(first, text.trim()) || isExact(second, text.trim()));
  if (isAmbiguous) return { status: "several", candidates: found };
  const sections = new Map<string, JsonValue[]>();
  for (const { section, record } of await sql.query(sqlText("mcp/brief.sql"), [String(first.account_id)], sectionRow)) {
    sections.set(section, [...(sections.get(section) ?? []), parseJson(record)]);
  }
  const [account = null] = sections.get("account") ?? [];
  sections.delete("account");
  return { status: "found", brief: { account, ...Object.fromEntries(sections) } };
};
