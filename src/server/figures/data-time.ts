// Worst-case age of the data behind a route: the time when its lists were last compared with the service.
import { z } from "zod";
import type { RouteMatch } from "../../replica/query/route-match.ts";
import type { RouteSpec } from "../../replica/routes.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { perSnapshot, type Snapshot } from "../snapshot.ts";
import { lastRunAt, readFreshness } from "./overview.ts";

/** Streams that supply a route's rows; the first one ever checked counts. */
const STREAMS: Readonly<Record<RouteSpec["name"], readonly string[]>> = {
  accountInsight: ["account_insights"],
  accounts: ["accounts"],
  account: ["accounts"],
  contacts: ["contacts"],
  contact: ["contacts"],
  signals: ["signals"],
  signalCounts: ["signals"],
  signal: ["signals"],
  // Profiles of tracked companies are embedded in their accounts.
  companyByInput: ["companies", "accounts"],
  company: ["companies", "accounts"],
  newsArticles: ["news_articles"],
  jobOpenings: ["job_openings"],
  earningsCalls: ["earnings_calls"],
  filings: ["filings"],
  usage: ["usage"],
  usageRequests: ["usage"],
  usageLimits: ["usage"],
  feedback: [],
};

const checkedRow = z.object({ stream: z.string(), scope: z.string(), checked_at: z.number() });

/** Stream → time when its stalest list was checked; `stream scope` → time when that list was checked. */
const readChecked = perSnapshot(async (snapshot) => {
  const oldest = new Map<string, number>();
  const lists = new Map<string, number>();
  for (const { stream, oldest_checked_at: checkedAt } of await readFreshness(snapshot)) {
    if (checkedAt !== null) oldest.set(stream, checkedAt);
  }
  for (const row of await snapshot.query(sqlText("server/checked.sql"), [], checkedRow)) {
    lists.set(`${row.stream} ${row.scope}`, row.checked_at);
  }
  return { oldest, lists };
});

/** Time of a route's data, ms since the epoch: no record in the response was checked earlier. */
export const dataTime = async (snapshot: Snapshot, { route, path }: RouteMatch): Promise<number> => {
  const { oldest, lists } = await readChecked(snapshot);
  for (const stream of STREAMS[route.name]) {
    const list = path.companyId === undefined ? undefined : lists.get(`${stream} ${path.companyId}`);
    // Looks since the snapshot have the time of each stream, not that of each company's list.
    const known = list ?? oldest.get(stream) ?? lists.get(`${stream} `);
    if (known !== undefined) return known;
  }
  return lastRunAt(snapshot);
};
