// Differences between a mirror and its service in what a sync keeps current: of companies, only those that an account
// links to.
import { runQuery } from "../../src/warehouse/read/query.ts";
import { differences } from "./compare.ts";
import { readService, type Service } from "./service-reader.ts";

/** A record that was asked for by its id comes with its full text, which lists of the sandbox lack. */
const FULL_TEXT = /^signals \S+ full_content: service absent, mirror /;
export const isNoFullText = (line: string): boolean => !FULL_TEXT.test(line);
const COMPANY_TABLES = /^(companies|news_articles|job_openings|earnings_calls|filings) ([^/ ]+)/;

/** One line each. The snapshot is that of a sync with `--full`, after which the service did not change. */
export const trackedDifferences = async (snapshot: string, service: Service): Promise<readonly string[]> => {
  const source = await readService(service);
  const sql = "SELECT DISTINCT company_id FROM accounts WHERE company_id IS NOT NULL";
  const tracked = new Set((await runQuery({ snapshot, sql })).rows.map(([id]) => String(id)));
  return differences(snapshot, source, (line) => {
    if (!isNoFullText(line)) return false;
    const company = COMPANY_TABLES.exec(line)?.[2];
    return company === undefined || tracked.has(company);
  });
};
