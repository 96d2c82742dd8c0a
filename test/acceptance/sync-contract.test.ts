// The contract of `duckmirror sync` as a scheduler sees it: environment, exit codes, streams, files, signals.
import { once } from "node:events";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { type SyncReport, syncReportSchema } from "../../src/core/report/sync-report.ts";
import { runQuery } from "../../src/warehouse/read/query.ts";
import { aSandbox, runBuilt, startBuilt, syncEnv, syncWell } from "./built-cli.ts";
import { differences } from "./compare.ts";
import { readService } from "./service-reader.ts";
import { tempFolder } from "./temp-folder.ts";

const sandbox = await aSandbox({ seed: 31, accounts: 4 });
/** Nothing changes in this service, so it is read once. */
let read: ReturnType<typeof readService> | null = null;
const wholeService = () => {
  read ??= readService(sandbox);
  return read;
};
afterEach(() => sandbox.intercept(undefined));

const reportOf = (out: string): SyncReport => syncReportSchema.parse(JSON.parse(out));
const streamOf = (report: SyncReport, name: string) => report.streams.find(({ stream }) => stream === name);

/** Resolves when the service has been asked `count` times; from then on it answers only once `release` is called. */
const holdAfter = (count: number) => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    let seen = 0;
    sandbox.intercept(async (_request, next) => {
      seen += 1;
      if (seen === count) resolve();
      if (seen >= count) await held;
      return next();
    });
  });
  return { reached, release };
};

/** The sandbox behind a path prefix, as behind a gateway. Remembers the paths it was asked for. */
const startGateway = async (
  prefix: string,
  tokenFor: (authorization: string, count: number) => string | null = (given) => given,
) => {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    paths.push(path);
    if (!path.startsWith(`${prefix}/v1/`)) return void response.writeHead(404).end();
    const authorization = tokenFor(request.headers.authorization ?? "", paths.length);
    if (authorization === null) return void response.writeHead(401).end();
    fetch(`${sandbox.url}${path.slice(prefix.length)}`, { headers: { authorization } })
      .then(async (answer) => response.writeHead(answer.status).end(await answer.text()))
      .catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the gateway has no port");
  return {
    url: `http://127.0.0.1:${address.port}${prefix}`,
    paths,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
};

/** Report of the first sync, of everything and without a limit. */
let first: SyncReport | null = null;
const firstSync = (): SyncReport => {
  if (first === null) throw new TypeError("the first sync has not ended well");
  return first;
};

describe("a sync that ends well", () => {
  const dataDir = join(tempFolder(), "new", "data");
  test("exits with 0, prints exactly one object on stdout that is the report, and everything else on stderr", async () => {
    const { code, out, err } = await runBuilt(["sync", "--json"], syncEnv(sandbox, dataDir));
    expect(code, err).toBe(0);
    expect(out.trimEnd().split("\n")).toHaveLength(1);
    const report = reportOf(out);
    expect(Object.keys(JSON.parse(out))).toEqual(Object.keys(report));
    expect(report).toMatchObject({ status: "done", mode: "full", warehouse: join(dataDir, "warehouse.duckdb") });
    expect(report.credits.spent).toBe(sandbox.stats().credits.used);
    // Answers that overtook one another leave open which of them the last figure holds: never more than were in flight.
    expect(Math.abs((report.credits.remaining ?? 0) - sandbox.stats().credits.remaining)).toBeLessThanOrEqual(32);
    expect(report.requests).toBe(sandbox.stats().requests);
    expect(err).toContain("accounts");
    // Nothing of Node's own (deprecations, leaks) among the log lines.
    expect(err).not.toMatch(/Warning/);
    expect(err + out).not.toContain(sandbox.token);
    first = report;
  });

  test("reports per stream the rows that its table now holds", async () => {
    const report = firstSync();
    for (const name of [
      "accounts",
      "contacts",
      "signals",
      "companies",
      "news_articles",
      "filings",
      "account_insights",
    ]) {
      const { rows } = await runQuery({ snapshot: report.warehouse, sql: `SELECT count(*) FROM ${name}` });
      expect([name, streamOf(report, name)?.inserted]).toEqual([name, rows[0]?.[0]]);
    }
  });

  test("writes files for their owner only", () => {
    const modes = new Map<string, number>();
    const visit = (path: string) => {
      const { mode } = statSync(path);
      modes.set(path, mode & 0o777);
      if (statSync(path).isDirectory()) for (const name of readdirSync(path)) visit(join(path, name));
    };
    visit(dataDir);
    expect(modes.size).toBeGreaterThan(5);
    for (const [path, mode] of modes)
      expect([path, mode]).toEqual([path, statSync(path).isDirectory() ? 0o700 : 0o600]);
  });

  test("without --json prints a table for people on stdout", async () => {
    const { code, out } = await runBuilt(["sync", "accounts"], syncEnv(sandbox, dataDir));
    expect([code, out]).toEqual([0, expect.stringContaining("accounts")]);
  });
});

test("every setting of a sync can come from the environment", async () => {
  const dataDir = tempFolder();
  const { out, err, code } = await runBuilt(["sync", "--json"], {
    ...syncEnv(sandbox, dataDir),
    DUCKMIRROR_STREAMS: "accounts,news_articles",
    DUCKMIRROR_CONTENT: "articleBody",
    DUCKMIRROR_COMPANIES: "nobody-knows.example",
    DUCKMIRROR_RATE_LIMIT: "pro",
    DUCKMIRROR_MAX_CREDITS: "4",
  });
  expect(code, err).toBe(4);
  const report = reportOf(out);
  expect(report.streams.map(({ stream }) => stream)).toEqual(["accounts", "news_articles"]);
  expect(report.credits.spent).toBe(4);
  const { rows } = await runQuery({
    snapshot: report.warehouse,
    sql: "SELECT (SELECT count(*) FROM news_articles), (SELECT count(article_body) FROM news_articles), (SELECT status FROM company_inputs)",
  });
  const [articles, bodies, input] = rows[0] ?? [];
  expect([Number(articles) > 0, Number(bodies) > 0, input]).toEqual([true, true, "not_found"]);
});

test("the token can be in a file, flags win over the environment, and a path prefix is kept", async () => {
  const gateway = await startGateway("/gateway/data");
  try {
    const dataDir = tempFolder();
    const file = join(tempFolder(), "token");
    writeFileSync(file, `${sandbox.token}\n`);
    const { code, err } = await runBuilt(["sync", "accounts", "--data-dir", dataDir], {
      DUCKMIRROR_BASE_URL: `${gateway.url}/`,
      DUCKMIRROR_TOKEN_FILE: file,
      DUCKMIRROR_DATA_DIR: "/nowhere/at/all",
    });
    expect(code, err).toBe(0);
    expect(gateway.paths[0]).toMatch(/^\/gateway\/data\/v1\/accounts\?/);
    const { rows } = await runQuery({
      snapshot: join(dataDir, "warehouse.duckdb"),
      sql: "SELECT count(*) FROM accounts",
    });
    expect(rows).toEqual([[4]]);
  } finally {
    await gateway.close();
  }
});

describe("a sync that does not end well", () => {
  test.each([
    ["no token", [], { DUCKMIRROR_TOKEN: "" }, "TOKEN_MISSING"],
    ["an unknown option", ["--ful"], {}, "USAGE"],
    ["an unknown opt-in field", [], { DUCKMIRROR_CONTENT: "articleBdy" }, "CONFIG_INVALID"],
  ])("exits with 2 for %s, without a request", async (_, argv, env, problem) => {
    const before = sandbox.stats().requests;
    const run = await runBuilt(["sync", ...argv], { ...syncEnv(sandbox, tempFolder()), ...env });
    expect(run).toMatchObject({ code: 2, out: "", err: expect.stringContaining(`error ${problem}:`) });
    expect(run.err).toContain("hint:");
    expect(sandbox.stats().requests).toBe(before);
  });

  test("exits with 3 when the service refuses the token, and never shows it", async () => {
    const token = "eyJhbGciOiJIUzI1NiJ9.a-token-that-was-rotated-away.signature";
    const run = await runBuilt(["sync", "--json", "-v"], {
      ...syncEnv(sandbox, tempFolder()),
      DUCKMIRROR_TOKEN: token,
    });
    expect(run).toMatchObject({ code: 3, err: expect.stringContaining("error CREDENTIALS_REFUSED:") });
    expect(run.out + run.err).not.toContain(token);
  });

  test("reads a token file again that is replaced in mid-run, and goes on without losing a credit", async () => {
    const dataDir = tempFolder();
    const file = join(tempFolder(), "token");
    writeFileSync(file, "token-of-yesterday");
    let valid = "token-of-yesterday";
    const refused: number[] = [];
    const gateway = await startGateway("/in", (authorization, count) => {
      if (count === 6) {
        valid = "token-of-today";
        writeFileSync(file, valid);
      }
      if (authorization === `Bearer ${valid}`) return `Bearer ${sandbox.token}`;
      refused.push(count);
      return null;
    });
    const before = sandbox.stats().credits.used;
    const run = await runBuilt(["sync", "--json"], {
      DUCKMIRROR_BASE_URL: gateway.url,
      DUCKMIRROR_TOKEN_FILE: file,
      DUCKMIRROR_DATA_DIR: dataDir,
      DUCKMIRROR_STREAMS: "accounts,contacts,signals",
      DUCKMIRROR_CONCURRENCY: "2",
    });
    await gateway.close();
    expect(run.code, run.err).toBe(0);
    const report = reportOf(run.out);
    expect(report.streams.every(({ complete }) => complete)).toBe(true);
    expect(report.credits.spent).toBe(sandbox.stats().credits.used - before);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThanOrEqual(2);
  });

  test("exits with 4 at --max-credits, spends no more, and the next sync goes on without paying twice", async () => {
    const dataDir = tempFolder();
    const before = sandbox.stats().credits.used;
    const first = await runBuilt(["sync", "--json", "--max-credits", "5"], syncEnv(sandbox, dataDir));
    expect(first).toMatchObject({ code: 4, err: expect.stringContaining("error BUDGET_SPENT:") });
    expect(JSON.parse(first.out)).toMatchObject({
      error: { code: "BUDGET_SPENT", hint: expect.stringContaining("--max-credits") },
    });
    const stopped = reportOf(first.out);
    expect([stopped.status, stopped.credits.spent, sandbox.stats().credits.used - before]).toEqual(["stopped", 5, 5]);
    const rest = await syncWell(sandbox, dataDir);
    // The request history grows with every request; the rest costs the same in two pieces as in one, but for the first
    // page of each organization list: it may have moved while it stood still.
    const mirrored = (report: SyncReport) => report.credits.spent - (streamOf(report, "usage")?.credits ?? 0);
    expect(mirrored(stopped) + mirrored(rest)).toBeLessThanOrEqual(mirrored(firstSync()) + 3);
    expect(await differences(join(dataDir, "warehouse.duckdb"), await wholeService())).toEqual([]);
  });

  test("exits with 4 at --max-duration, with a snapshot of what there is", async () => {
    const env = { ...syncEnv(sandbox, tempFolder()), DUCKMIRROR_RATE_LIMIT: "60" };
    const { code, out, err } = await runBuilt(["sync", "--json", "--max-duration", "1s"], env);
    expect(code, err).toBe(4);
    expect(err).toContain("error DURATION_SPENT:");
    const report = reportOf(out);
    expect(report.status).toBe("stopped");
    expect(statSync(report.warehouse).isFile()).toBe(true);
  });

  test("exits with 5 when a route fails, names the stream, commits the others, and fetches only it the next time", async () => {
    const dataDir = tempFolder();
    sandbox.intercept(async (request, next) =>
      request.path.endsWith("/filings") ? { status: 409, headers: {}, body: "{}" } : next(),
    );
    const run = await runBuilt(["sync", "--json"], syncEnv(sandbox, dataDir));
    expect(run).toMatchObject({ code: 5, err: expect.stringContaining("error STREAMS_FAILED:") });
    const report = reportOf(run.out);
    expect(report.status).toBe("partial");
    expect(report.streams.filter(({ status }) => status === "failed").map(({ stream }) => stream)).toEqual(["filings"]);
    expect(streamOf(report, "filings")?.error).toMatch(/filings/);
    sandbox.intercept(undefined);
    const next = await syncWell(sandbox, dataDir);
    expect(streamOf(next, "filings")?.credits).toBeGreaterThan(0);
    expect(streamOf(next, "news_articles")?.credits).toBe(0);
    expect(await differences(join(dataDir, "warehouse.duckdb"), await wholeService())).toEqual([]);
  });

  test("a second writer exits with 6 at once; SIGINT ends the first with 130, committed and resumable", async () => {
    const dataDir = tempFolder();
    const before = sandbox.stats().credits.used;
    const hold = holdAfter(9);
    const first = startBuilt(["sync", "--json"], syncEnv(sandbox, dataDir));
    await hold.reached;
    const second = await runBuilt(["sync"], syncEnv(sandbox, dataDir));
    expect(second).toMatchObject({ code: 6, out: "", err: expect.stringContaining("error WRITER_BUSY:") });
    first.child.kill("SIGINT");
    hold.release();
    const { code, out, err } = await first.ended;
    expect(code, err).toBe(130);
    const report = reportOf(out);
    expect(report.status).toBe("interrupted");
    // The pages that were under way were paid for, so they were waited for and written.
    expect(report.credits.spent).toBe(sandbox.stats().credits.used - before);
    const next = await syncWell(sandbox, dataDir);
    expect(streamOf(next, "accounts")?.credits).toBeLessThanOrEqual(1);
    expect(await differences(join(dataDir, "warehouse.duckdb"), await wholeService())).toEqual([]);
  });
});

test("while a sync runs, another process reads the snapshot of the one before", async () => {
  const dataDir = tempFolder();
  await syncWell(sandbox, dataDir, ["accounts"]);
  const hold = holdAfter(3);
  const run = startBuilt(["sync", "--json"], syncEnv(sandbox, dataDir));
  await hold.reached;
  const query = ["query", "--format", "csv", "select (select count(*) from accounts), (select count(*) from signals)"];
  const during = await runBuilt(query, { DUCKMIRROR_DATA_DIR: dataDir });
  expect(during).toMatchObject({ code: 0, out: expect.stringMatching(/\r\n4,0\r\n$/) });
  hold.release();
  expect((await run.ended).code).toBe(0);
  expect((await runBuilt(query, { DUCKMIRROR_DATA_DIR: dataDir })).out).not.toMatch(/\r\n4,0\r\n$/);
});
