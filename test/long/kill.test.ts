// kill -9 at random moments, behind a service that breaks off, lies and stalls: after each kill the snapshot opens and
// is consistent, the next sync goes on, nothing loaded is fetched again, and in the end the mirror equals the service. Shows P27.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FaultProxy, type Passed, startFaultProxy } from "../../src/sandbox/faults/proxy.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/sandbox.ts";
import { runQuery } from "../../src/warehouse/read/query.ts";
import { startBuilt, syncEnv, syncWell } from "../acceptance/built-cli.ts";
import { differences } from "../acceptance/compare.ts";
import { type ApiTables, readService } from "../acceptance/service-reader.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { seededRandom } from "../support/chance.ts";

const SEED = Number(process.env.KILL_SEED ?? 20_261_121);
const KILLS = Number(process.env.KILLS ?? 6);
const PAGE = 50;
/**
 * Requests a minute: as fast as they go, and so slow that answers wait for each other before they are committed
 * (docs/decisions/loading.md).
 */
const RATES = [1_000_000, 1200];
/** Requests at once: a kill may lose the answers to that many, which are on their way to the archive. */
const CONCURRENCY = 4;
/** Starts in all, those that came to their end before they were killed included. */
const MOST_STARTS = KILLS * 2 + 1;

let sandbox: Sandbox;
let proxy: FaultProxy;
/** Each start has a token of its own: what a killed program had sent may be read when the next one is running. */
const tokenOf = (start: number) => `token-of-start-${start}`;
const startOf = ({ authorization }: Passed) => Number(authorization?.split("-").at(-1));
let onRequest: (start: number) => void = () => undefined;

beforeEach(async () => {
  const plan = { plan: "enterprise", maxPerPage: PAGE, latencyMs: "2-15", threads: 1 } as const;
  const moreTokens = Array.from({ length: MOST_STARTS + 1 }, (_, start) => tokenOf(start));
  sandbox = await startSandbox({ seed: 51, accounts: 30 + 2 * KILLS, ...plan, moreTokens });
  sandbox.intercept((request, next) => {
    onRequest(Number(request.headers.authorization?.split("-").at(-1)));
    return next();
  });
  // One request in ten; what makes every request wait would only make the test slower.
  const faults = ["reset-before", "reset-after", "reset-midway", "end-midway", "truncated-gzip", "cut-unframed"];
  const lies = ["short-length", "empty-body", "html", "invalid-json", "wrong-shape", "informational", "not-http"];
  const random = { rate: 0.1, faults: [...faults, ...lies, "duplicate", "content-type", 408, 500, 502, 503, 504] };
  proxy = await startFaultProxy({ upstream: sandbox.url, faults: { seed: SEED, random } });
});
afterEach(async () => {
  await proxy.close();
  await sandbox.close();
});

interface Plan {
  /** Killed `delayMs` after its request number `at` reached the service. */
  readonly at: number;
  readonly delayMs: number;
  /** With an allowance a run ends, and publishes: some kills hit just that. */
  readonly credits: number | null;
}

const planOf = (random: () => number): Plan => {
  const upTo = (most: number) => 1 + Math.floor(random() * most);
  if (random() < 0.65) return { at: upTo(14), delayMs: Math.floor(random() * 60), credits: null };
  const credits = upTo(6);
  return { at: credits, delayMs: Math.floor(random() * 900), credits };
};

const syncing = (start: number, dataDir: string, rate: number) => ({
  ...syncEnv({ url: proxy.url, token: tokenOf(start) }, dataDir),
  DUCKMIRROR_RATE_LIMIT: String(rate),
  DUCKMIRROR_CONCURRENCY: String(CONCURRENCY),
});

/** Starts a sync and kills it as planned. Answers with whether the kill came before its end. */
const syncUntilKilled = async (
  start: number,
  dataDir: string,
  rate: number,
  { at, delayMs, credits }: Plan,
): Promise<boolean> => {
  const argv = ["sync", "-q", ...(credits === null ? [] : ["--max-credits", String(credits)])];
  const run = startBuilt(argv, syncing(start, dataDir, rate));
  let left = at;
  onRequest = (from) => {
    if (from !== start) return;
    left -= 1;
    if (left === 0) setTimeout(() => run.child.kill("SIGKILL"), delayMs);
  };
  const { code, err } = await run.ended;
  onRequest = () => undefined;
  // Behind faults a stream may fail before its kill comes (5); the next start goes on with it.
  expect([null, 4, 5], `the sync ended in its own way: ${err}`).toContain(code);
  return code === null;
};

const KEYS = {
  accounts: "id",
  contacts: "id",
  signals: "id",
  companies: "id",
  owners: "id",
  account_insights: "account_id",
  news_articles: "(company_id, id)",
  job_openings: "(company_id, id)",
  earnings_calls: "(company_id, id)",
  filings: "(company_id, id)",
} as const;

/** Reads every cell of the snapshot; rows per table. Throws when a file does not open, fails when a key stands twice. */
const rowsOf = async (snapshot: string): Promise<readonly number[]> => {
  const tables = Object.entries(KEYS).map(
    ([table, key]) => `SELECT count(*), count(DISTINCT ${key}), bit_xor(hash(t)) FROM ${table} t`,
  );
  const { rows } = await runQuery({ snapshot, sql: tables.join(" UNION ALL ") });
  for (const [count, distinct] of rows) expect(distinct).toBe(count);
  return rows.map(([count]) => Number(count));
};

/** Credits that a mirror of the whole service costs at least, the usage routes aside. */
const fewestCredits = (service: ApiTables): number => {
  const pages = (rows: number) => Math.max(1, Math.ceil(rows / PAGE));
  const rowsIn = (table: string) => [...(service[table]?.keys() ?? [])];
  const lists = ["accounts", "contacts", "signals"].map((table) => pages(rowsIn(table).length));
  const perCompany = ["news_articles", "job_openings", "earnings_calls", "filings"].flatMap((table) => {
    const companies = rowsIn(table).map((key) => key.split("/")[0]);
    return rowsIn("companies").map((id) => pages(companies.filter((company) => company === id).length));
  });
  return [...lists, ...perCompany].reduce((sum, count) => sum + count, 0) + 1 + rowsIn("account_insights").length;
};

/** First page of an organization's list: looked at again in a later run, since the list may have moved. */
const isHead = (url: string) => /^\/v1\/(accounts|contacts|signals)\?page=1&/.test(url);
const isUsage = (url: string) => url.startsWith("/v1/usage");
/** The answer reached the client whole: what comes again in a later start was lost to the kill. */
const cameWhole = ({ fault, statuses }: Passed) =>
  statuses.includes(200) && (fault === null || ["duplicate", "content-type", "informational"].includes(fault));

const title = `at %i requests a minute a first mirror survives ${KILLS} kills behind faults and no loaded page is requested again (seed ${SEED})`;
test.each(RATES)(
  title,
  async (rate) => {
    const random = seededRandom(SEED);
    const dataDir = tempFolder();
    const snapshot = join(dataDir, "warehouse.duckdb");
    let kills = 0;
    let start = 1;
    let opened = 0;
    // A snapshot from the start, so that every kill has one to spoil.
    const { code } = await startBuilt(["sync", "-q", "--max-credits", "3"], syncing(0, dataDir, rate)).ended;
    expect([4, 5]).toContain(code);
    let before = await rowsOf(snapshot);
    for (; kills < KILLS; start++) {
      expect(start).toBeLessThan(MOST_STARTS);
      if (await syncUntilKilled(start, dataDir, rate, planOf(random))) kills += 1;
      const rows = await rowsOf(snapshot);
      expect(rows.every((count, index) => count >= (before[index] ?? 0))).toBe(true);
      before = rows;
      opened += 1;
    }
    await syncWell({ url: proxy.url, token: tokenOf(MOST_STARTS) }, dataDir);
    before = await rowsOf(snapshot);
    const service = await readService(sandbox);
    expect(await differences(snapshot, service)).toEqual([]);

    // Of every start at most what was in flight at the kill is asked for again.
    const paid = proxy.passed.filter((request) => cameWhole(request) && !isUsage(request.url));
    const paidIn = new Map<string, number>();
    const lost = new Map<number, string[]>();
    for (const request of paid) {
      const earlier = paidIn.get(request.url);
      if (earlier !== undefined && !isHead(request.url)) lost.set(earlier, [...(lost.get(earlier) ?? []), request.url]);
      paidIn.set(request.url, startOf(request));
    }
    expect([...lost.values()].filter((urls) => urls.length > CONCURRENCY)).toEqual([]);
    // What the program took in, it took in once; the rest of what was paid for was in flight.
    const { rows: ledger } = await runQuery({
      snapshot,
      sql: "SELECT url, count(*) FROM sync.requests WHERE charge = 'spent' AND error IS NULL AND stream <> 'usage' GROUP BY url",
    });
    const twice = ledger.filter(([url, count]) => count !== 1 && !isHead(String(url)));
    const { rows: history } = await runQuery({
      snapshot,
      sql: `SELECT url, request_id, run_id, started_at, duration_ms, status, charge, rows, error FROM sync.requests
          WHERE url IN (SELECT unnest(string_split('${twice.map(([url]) => url).join(" ")}', ' '))) ORDER BY started_at`,
    });
    expect(
      twice,
      `ledger of what was taken in twice: ${JSON.stringify(
        history.map((row) => row.map(String)),
        null,
        1,
      )}`,
    ).toEqual([]);
    const takenIn = ledger.reduce((sum, [, count]) => sum + Number(count), 0);
    expect(paid.length - takenIn).toBeLessThanOrEqual(KILLS * CONCURRENCY);
    // A walk that goes on looks at its head and overlaps with what it has: at most two pages more each time.
    const resumed = ["accounts", "contacts", "signals"].map(
      (list) => new Set(paid.filter(({ url }) => url.startsWith(`/v1/${list}?`)).map(startOf)).size - 1,
    );
    const extra = takenIn - fewestCredits(service);
    expect(extra).toBeLessThanOrEqual(2 * resumed.reduce((sum, count) => sum + count, 0));
    const struck = proxy.passed.filter(({ fault }) => fault !== null).length;
    expect(struck).toBeGreaterThan(proxy.passed.length / 20);
    const figures = {
      kills,
      starts: start + 1,
      opened,
      requests: proxy.passed.length,
      faults: struck,
      lostInFlight: paid.length - takenIn,
      fetchedAgain: twice.length,
      rows: before.reduce((sum, count) => sum + count, 0),
    };
    if (process.env.KILL_FIGURES !== undefined) writeFileSync(process.env.KILL_FIGURES, JSON.stringify(figures));
  },
  3_600_000,
);
