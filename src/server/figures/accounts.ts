// Reads accounts from the snapshot for the page: a list, and one account with its score, timeline, changes and insights. Times are ms since
// the epoch.
import { z } from "zod";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { notFound } from "../http/refusals.ts";
import type { Snapshot } from "../snapshots/snapshot.ts";

const word = z.string().nullable();
const figure = z.number().nullable();

const accountRow = z.object({
  account_id: z.string(),
  name: word,
  domain: word,
  type: word,
  priority: figure,
  industry: word,
  main_score: figure,
  signals_30_days: z.number(),
  last_signal_at: figure,
  total: z.number(),
});

/** Accounts of one page of the list. */
export const ACCOUNTS_SHOWN = 100;

/** Accounts that hold `words` in name, domain or industry, the highest score first. */
export const readAccounts = (snapshot: Snapshot, words: string, offset: number) =>
  snapshot.query(sqlText("server/accounts.sql"), [words, ACCOUNTS_SHOWN, offset], accountRow);

const facts = z.object({
  account_id: z.string(),
  name: word,
  domain: word,
  type: word,
  priority: figure,
  industry: word,
  country: word,
  employees: figure,
  company_id: word,
  company: word,
  stock_symbol: word,
  score: figure,
  score_before: figure,
  score_30_days_ago: figure,
  open_jobs: z.number(),
  signals: z.number(),
  signals_30_days: z.number(),
  contacts: z.number(),
  champions: z.number(),
  updated_at: figure,
  description: word,
  crm_url: word,
  professional_network_url: word,
  funding_data_url: word,
  sales_tool_url: word,
});

const sections = {
  score: z.object({ at: z.number(), score: figure }),
  count: z.object({ kind: z.string(), events: z.number() }),
  event: z.object({ kind: z.string(), at: figure, title: word, detail: word, url: word }),
  change: z.object({ at: z.number(), table: z.string(), sentence: word }),
  insight: z.object({ field: z.string(), text: word }),
};

/** One account. Throws a 404 refusal if the mirror has none with this id. */
export const readAccount = async (snapshot: Snapshot, id: string) => {
  const found = z.object({ section: z.string(), record: z.string() });
  const records = await snapshot.query(sqlText("server/account.sql"), [id], found);
  const section = <T>(name: string, row: z.ZodType<T>): T[] =>
    records.filter((one) => one.section === name).map(({ record }) => row.parse(JSON.parse(record)));
  const [account] = section("account", facts);
  if (account === undefined) throw notFound("such account in the mirror");
  return {
    account,
    scores: section("score", sections.score),
    counts: section("count", sections.count),
    events: section("event", sections.event),
    changes: section("change", sections.change),
    insights: section("insight", sections.insight),
  };
};
