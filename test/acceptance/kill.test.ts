// kill -9 at fifty random moments: the next sync goes on, nothing loaded is fetched again, the mirror ends up equal.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Sandbox, startSandbox } from "../../src/sandbox/sandbox.ts";
import { runQuery } from "../../src/warehouse/query.ts";
import { seededRandom } from "../support/sync-rig.ts";
import { startBuilt, syncEnv, syncWell } from "./built-cli.ts";
import { differences } from "./compare.ts";
import { type ApiTables, readService } from "./service-reader.ts";
import { tempFolder } from "./temp-folder.ts";

const SEED = 20_261_121;
const KILLS = 50;
const PAGE = 50;
/** Requests at once: a kill may lose the answers to that many, which are on their way to the archive. */
const CONCURRENCY = 4;

interface Sent {
  /** Which start of the program sent it, from 0. */
  readonly run: number;
  readonly url: string;
  status: number | null;
}

let sandbox: Sandbox;
const sent: Sent[] = [];
let kills = 0;
/** Each start has a token of its own: what a killed program had sent may be read when the next one is running. */
const tokenOf = (run: number) => `token-of-start-${run}`;
const runOf = (authorization: string | undefined) => Number(authorization?.split("-").at(-1));
let onRequest: () => void = () => undefined;

beforeAll(async () => {
  const plan = { accounts: 100, plan: "enterprise", maxPerPage: PAGE, latencyMs: "5-25", threads: 1 } as const;
  const moreTokens = Array.from({ length: KILLS + 1 }, (_, run) => tokenOf(run));
  sandbox = await startSandbox({ seed: 51, ...plan, moreTokens });
  sandbox.intercept(async (request, next) => {
    const url = `${request.path}?${new URLSearchParams(request.query)}`;
    const entry: Sent = { run: runOf(request.headers.authorization), url, status: null };
    sent.push(entry);
    if (entry.run === kills) onRequest();
    const response = await next();
    entry.status = response.status;
    return response;
  });
});
afterAll(() => sandbox.close());

/** Starts a sync and kills it `delayMs` after its request number `at`. */
const syncUntilKilled = async (dataDir: string, at: number, delayMs: number): Promise<void> => {
  const started = startBuilt(["sync", "-q"], {
    ...syncEnv({ url: sandbox.url, token: tokenOf(kills) }, dataDir),
    DUCKMIRROR_CONCURRENCY: `${CONCURRENCY}`,
  });
  let left = at;
  onRequest = () => {
    left -= 1;
    if (left !== 0) return;
    setTimeout(() => started.child.kill("SIGKILL"), delayMs);
  };
  const { code, err } = await started.ended;
  onRequest = () => undefined;
  expect(code, `the sync ended before it was killed: ${err}`).toBeNull();
  kills += 1;
};

/** Credits that a mirror of the whole service costs at least, the usage routes aside. */
const fewestCredits = (service: ApiTables): number => {
  const pages = (rows: number) => Math.max(1, Math.ceil(rows / PAGE));
  const rowsOf = (table: string) => [...(service[table]?.keys() ?? [])];
  const lists = ["accounts", "contacts", "signals"].map((table) => pages(rowsOf(table).length));
  const perCompany = ["news_articles", "job_openings", "earnings_calls", "filings"].flatMap((table) => {
    const companies = rowsOf(table).map((key) => key.split("/")[0]);
    return rowsOf("companies").map((id) => pages(companies.filter((company) => company === id).length));
  });
  return [...lists, ...perCompany].reduce((sum, count) => sum + count, 0) + 1 + rowsOf("account_insights").length;
};

/** First page of an organization's list: looked at again in a later run, since the list may have moved. */
const isHead = (url: string) => /^\/v1\/(accounts|contacts|signals)\?page=1&/.test(url);
const isUsage = (url: string) => url.startsWith("/v1/usage");

test(`a first mirror survives ${KILLS} kills and no loaded page is requested again (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  const dataDir = tempFolder();
  const snapshot = join(dataDir, "warehouse.duckdb");
  while (kills < KILLS) {
    await syncUntilKilled(dataDir, 1 + Math.floor(random() * 16), Math.floor(random() * 60));
    if (existsSync(snapshot)) await runQuery({ snapshot, sql: "SELECT count(*) FROM accounts" });
  }
  await syncWell({ url: sandbox.url, token: tokenOf(KILLS) }, dataDir);
  const paid = sent.filter(({ status, url }) => status === 200 && !isUsage(url));
  const service = await readService(sandbox);
  expect(await differences(snapshot, service)).toEqual([]);

  // Of every run at most what was in flight at the kill is asked for again.
  const paidIn = new Map<string, number>();
  const lost = Array.from({ length: KILLS }, (): string[] => []);
  for (const { run, url } of paid) {
    const before = paidIn.get(url);
    if (before !== undefined && !isHead(url)) lost[before]?.push(`${url} again in run ${run}`);
    paidIn.set(url, run);
  }
  expect(lost.filter((urls) => urls.length > CONCURRENCY)).toEqual([]);
  // What the program took in, it took in once; the rest of what was paid for was in flight.
  const { rows: ledger } = await runQuery({
    snapshot,
    sql: "SELECT url, count(*) FROM sync.requests WHERE charge = 'spent' AND stream <> 'usage' GROUP BY url",
  });
  expect(ledger.filter(([url, count]) => count !== 1 && !isHead(String(url)))).toEqual([]);
  const takenIn = ledger.reduce((sum, [, count]) => sum + Number(count), 0);
  expect(paid.length - takenIn).toBeLessThanOrEqual(KILLS * CONCURRENCY);
  // A walk that goes on looks at its head and overlaps with what it has: at most two pages more each time.
  const resumed = ["accounts", "contacts", "signals"].map(
    (list) => new Set(paid.filter(({ url }) => url.startsWith(`/v1/${list}?`)).map(({ run }) => run)).size - 1,
  );
  const extra = takenIn - fewestCredits(service);
  expect(extra).toBeLessThanOrEqual(2 * resumed.reduce((sum, count) => sum + count, 0));
}, 600_000);
