// The request ledger against the service's own log: every request of every command, with its credit, request by request.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { startSandbox } from "../../../src/sandbox/sandbox.ts";
import { callsDir } from "../../../src/warehouse/journal/journal.ts";
import { runQuery } from "../../../src/warehouse/read/query.ts";
import { afterTest } from "../../support/after-test.ts";
import { aPlaceFor, cli } from "../../support/cli.ts";
import { forFile } from "../../support/for-file.ts";

const HOUR_MS = 3_600_000;
const program = new URL("../../../src/cli/main.ts", import.meta.url).pathname;

/** What the service answered: path, query and status of every request. */
let log: string[] = [];
const logged = (path: string, query: Iterable<[string, string]>, status: number | null) =>
  `${path}?${new URLSearchParams(query).toString()} ${status}`;
const listen = () =>
  sandbox.intercept(async (request, next) => {
    const response = await next();
    log.push(logged(request.path, Object.entries(request.query), response.status));
    return response;
  });

const LARGEST_PAGE = 100;

const sandbox = await forFile(
  startSandbox({ seed: 5, accounts: 3, plan: "enterprise", threads: 1, maxPerPage: LARGEST_PAGE }),
);
beforeAll(async () => {
  listen();
});
afterEach(() => {
  log = [];
  listen();
});

const aMirror = () =>
  aPlaceFor(sandbox, { DUCKMIRROR_STREAMS: "accounts,contacts,signals", DUCKMIRROR_LOG_LEVEL: "error" });

const rowsOf = async (dataDir: string, sql: string) => {
  const { rows } = await runQuery({ snapshot: join(dataDir, "warehouse.duckdb"), sql });
  return rows;
};

/** The ledger in the form of the log. */
const ledger = async (dataDir: string): Promise<readonly string[]> => {
  const rows = await rowsOf(dataDir, "SELECT url, status FROM sync.requests");
  return rows.map(([url, status]) => {
    const [path = "", query = ""] = String(url).split("?");
    return logged(path, new URLSearchParams(query), status === null ? null : Number(status));
  });
};

describe("every request is in the ledger", () => {
  test("of check, feedback, sync and verify, before the first sync and after it", async () => {
    const { dataDir, run } = aMirror();
    const usedBefore = sandbox.stats().credits.used;
    for (const argv of [
      ["check"],
      ["feedback", "first words"],
      ["sync"],
      ["check"],
      ["feedback", "--rating", "5", "thanks"],
      ["verify", "--max-credits", "6"],
      ["check"],
      ["sync", "accounts", "usage"],
    ]) {
      const { code, err } = await run(...argv);
      expect([argv, code, err]).toEqual([argv, 0, err]);
    }
    expect([...(await ledger(dataDir))].sort()).toEqual([...log].sort());
    const [[credits] = []] = await rowsOf(dataDir, "SELECT CAST(sum(credits) AS INTEGER) FROM sync.requests");
    expect(credits).toBe(sandbox.stats().credits.used - usedBefore);
    const modes = await rowsOf(
      dataDir,
      `SELECT mode, CAST(sum(credits) AS INTEGER) FROM sync.runs JOIN sync.requests USING (run_id)
       WHERE mode IN ('check', 'feedback') GROUP BY mode ORDER BY mode`,
    );
    expect(modes).toEqual([
      ["check", 3],
      ["feedback", 2],
    ]);
    expect(readdirSync(callsDir(dataDir))).toEqual([]);
  });

  test("of a check and a feedback beside a process that holds the warehouse, as soon as it publishes", async () => {
    const { dataDir, run } = aMirror();
    expect((await run("sync", "accounts")).code).toBe(0);
    let beside: Promise<unknown> | null = null;
    sandbox.intercept(async (request, next) => {
      // The first request of the running sync; the two commands run while it waits.
      if (beside === null && request.path === "/v1/accounts" && request.query.perPage !== "1") {
        beside = (async () => {
          expect((await run("check")).code).toBe(0);
          expect((await run("feedback", "beside")).code).toBe(0);
        })();
        await beside;
      }
      const response = await next();
      log.push(logged(request.path, Object.entries(request.query), response.status));
      return response;
    });
    expect((await run("sync", "accounts", "usage")).code).toBe(0);
    expect([...(await ledger(dataDir))].sort()).toEqual([...log].sort());
  });

  test("a refused call is free, and its row says why", async () => {
    const { dataDir, run } = aMirror();
    sandbox.intercept(async () => ({ status: 500, headers: {}, body: "broken" }));
    expect((await run("check")).code).toBe(5);
    expect((await run("feedback", "words")).code).toBe(5);
    listen();
    expect((await run("sync", "accounts")).code).toBe(0);
    const rows = await rowsOf(
      dataDir,
      "SELECT stream, endpoint, status, charge, credits, error FROM sync.requests WHERE status = 500 ORDER BY stream",
    );
    expect(rows).toEqual([
      // A large page, then one row.
      ["accounts", "/v1/accounts", 500, "free", 0, "HTTP 500"],
      ["accounts", "/v1/accounts", 500, "free", 0, "HTTP 500"],
      ["feedback", "/v1/feedback", 500, "free", 0, "HTTP 500"],
    ]);
  });
});

describe("spent by others is never our own", () => {
  test("a fresh mirror shows no difference, nor does one after checks, feedback and the usage routes", async () => {
    const own = await startSandbox({ seed: 6, accounts: 2, plan: "enterprise", threads: 1 });
    afterTest(own.close);
    const { run, json } = aPlaceFor(own, { DUCKMIRROR_LOG_LEVEL: "error" });
    const steps = [["sync"], ["check"], ["sync", "usage"], ["feedback", "x"], ["check"], ["sync", "accounts"]];
    for (const argv of steps) {
      expect((await run(...argv)).code).toBe(0);
      const { credits } = await json("status");
      expect([argv, credits.spent_by_others, credits.undecided]).toEqual([argv, 0, []]);
      expect((await run("status")).out).not.toMatch(/spent by others|fewer/);
    }
  });

  test("what another program spends is named as such", async () => {
    const own = await startSandbox({ seed: 7, accounts: 2, plan: "enterprise", threads: 1 });
    afterTest(own.close);
    const { run, json } = aPlaceFor(own, { DUCKMIRROR_LOG_LEVEL: "error" });
    const headers = { authorization: `Bearer ${own.token}` };
    for (let nth = 0; nth < 3; nth += 1) await fetch(`${own.url}/v1/accounts`, { headers });
    expect((await run("sync", "accounts", "usage")).code).toBe(0);
    expect((await json("status")).credits.spent_by_others).toBe(3);
    expect((await run("status")).out).toContain("the service counts 3 more, spent by others");
  });
});

describe("a command that is killed", () => {
  test("leaves a request that may have cost a credit: the ledger has it, and status names it", async () => {
    const { dataDir, env, run, json } = aMirror();
    expect((await run("sync", "accounts")).code).toBe(0);
    const others = (await json("status")).credits.spent_by_others;
    const reached = new Promise<void>((resolve) => {
      sandbox.intercept(async (request, next) => {
        // Too large a page is refused, and costs nothing.
        if (Number(request.query.perPage) > LARGEST_PAGE) return next();
        resolve();
        await new Promise((release) => child.once("exit", release));
        return next();
      });
    });
    const child = spawn(process.execPath, ["--import", "tsx", program, "check"], {
      env: { ...process.env, ...env },
      stdio: "ignore",
    });
    await reached;
    child.kill("SIGKILL");
    await once(child, "exit");
    listen();

    // The process might still wait for its answer, so it and the refused one before it are only announced.
    expect((await run("sync", "accounts")).code).toBe(0);
    expect((await json("status")).credits).toMatchObject({ pending_here: 2, undecided: [] });
    expect((await run("status")).out).toContain("2 requests of other commands will enter the ledger");

    const clock = { ...systemClock, now: () => Date.now() + HOUR_MS };
    expect((await cli(["sync", "accounts"], { env, clock })).code).toBe(0);
    const { credits } = await json("status");
    expect(credits).toMatchObject({
      pending_here: 0,
      spent_by_others: others,
      undecided: [{ endpoint: "/v1/accounts", url: expect.stringMatching(/^\/v1\/accounts\?/) }],
    });
    expect((await run("status")).out).toMatch(/^undecided: \/v1\/accounts\?.*no answer/m);
    expect(readdirSync(callsDir(dataDir))).toEqual([]);
  });
});

test("a check whose calls cannot be noted says so and ends well", async () => {
  const { dataDir, run } = aMirror();
  mkdirSync(join(dataDir, "state"), { recursive: true });
  writeFileSync(join(dataDir, "state", "calls"), "a file in place of the folder");
  const { code, err } = await run("check");
  expect([code, err]).toEqual([0, expect.stringMatching(/^warning: the ledger will lack requests of this command: /)]);
});

test("a replay from the archive brings the same ledger", async () => {
  const { dataDir, run } = aMirror();
  for (const argv of [["check"], ["feedback", "x"], ["sync", "accounts"], ["replay"]]) {
    expect((await run(...argv)).code).toBe(0);
  }
  expect([...(await ledger(dataDir))].sort()).toEqual([...log].sort());
});
