import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { PlanReport } from "../../../../../jobs/plan.ts";
import {
  creditLinesOf,
  projectionOf,
  unknownLinesOf,
  waitingLines,
} from "../../../../../src/cli/terminal/plan/outlook-lines.ts";
import { storeUnusable } from "../../../../../src/sync/plan/capabilities.ts";
import { change } from "../../../../support/change-mirror.ts";
import { aFolder, cliIn } from "../../../../support/cli.ts";
import { json, startScriptedServer } from "../../../../support/scripted-server.ts";

// Lists that wait because their answers could not be used are named by the commands that look ahead.

const HOUR_MS = 3_600_000;

test("a line names the stream, how many of its requests wait, until when, and how to ask at once", () => {
  const until = Date.UTC(2026, 10, 21, 5);
  const lines = waitingLines([
    { stream: "contacts", places: 1, until },
    { stream: "filings", places: 30, until },
  ]);
  expect(lines[0]).toBe(
    "contacts: 1 request waits until 2026-11-21 05:00 UTC: it was refused, or the answer could not be used; `duckmirror sync contacts` asks at once",
  );
  expect(lines[1]).toContain("filings: 30 requests wait until");
  expect(waitingLines([])).toEqual([]);
});

test("plan and check say what waits, and when it is asked for again", async () => {
  const cwd = aFolder();
  const dataDir = join(cwd, "data");
  const now = Date.now();
  await change(dataDir, (warehouse) =>
    storeUnusable(warehouse, [{ stream: "contacts", scope: "", times: 3, at: now }], now),
  );
  const service = await startScriptedServer();
  const usage = { limit: 50, used: 1, remaining: 49, resetsAt: "2026-04-01T00:00:00Z" };
  const answer = json({ data: [{ id: 1 }], meta: { page: 1, perPage: 1, totalCount: 1, totalPages: 1 }, usage });
  service.play(answer, answer);
  const env = { DUCKMIRROR_BASE_URL: service.origin, DUCKMIRROR_TOKEN: "test-token", DUCKMIRROR_DATA_DIR: dataDir };
  const there = cliIn({ env, cwd });
  const waiting = [{ stream: "contacts", requests: 1, asked_again_at: new Date(now + 2 * HOUR_MS).toISOString() }];
  for (const command of ["plan", "check"]) {
    expect([command, (await there.json(command)).waiting]).toEqual([command, waiting]);
    expect((await there.run(command)).out).toContain("contacts: 1 request waits until");
  }
  await service.close();
});

const RESET = Date.UTC(2026, 11, 1);

type Parts = {
  readonly [Part in "forecast" | "outlook" | "credits" | "rollOver"]?: Partial<PlanReport[Part]>;
} & Partial<Pick<PlanReport, "allowance" | "pace">>;

/** A plan that costs 10 credits, of a mirror whose credits last beyond the reset. */
const aReport = (parts: Parts = {}): PlanReport => ({
  forecast: {
    streams: [],
    requests: 10,
    atLeast: false,
    most: 10,
    unknown: [],
    days: new Map(),
    ...parts.forecast,
  },
  outlook: {
    minutes: null,
    ratePerMinute: null,
    creditsPerDay: 3,
    expectedPerDay: 3,
    perPeriod: 90,
    leftAtReset: null,
    short: null,
    emptyOn: null,
    coveredPeriods: null,
    aging: [],
    streams: [],
    ...parts.outlook,
  },
  credits: { used: null, remaining: null, limit: null, resetsAt: null, ...parts.credits },
  rollOver: { shown: "unknown", grant: null, periodMs: null, ...parts.rollOver },
  allowance: parts.allowance ?? null,
  tier: null,
  followed: 0,
  cuts: [],
  waiting: [],
  pace: parts.pace ?? "greedy",
  content: [],
});
const lines = (parts: Parts) => creditLinesOf(aReport(parts));
const DAILY = "an unchanged source costs about 3 credits a day";

describe("credits", () => {
  test("what is left is said with the day of the reset, where both are known", () => {
    expect(lines({})).toEqual([DAILY]);
    expect(lines({ credits: { remaining: 1 } })[0]).toBe("1 credit left");
    expect(lines({ credits: { remaining: 12_345, resetsAt: RESET } })[0]).toBe("12,345 credits left until 2026-12-01");
  });

  test("a plan that does not fit says how much of it does", () => {
    expect(lines({ allowance: 10 })).toEqual([DAILY]);
    expect(lines({ allowance: 9 })[0]).toBe(
      "only the most valuable 9 requests fit; the next sync continues from there",
    );
    expect(lines({ allowance: 1 })[0]).toBe("only the most valuable request fits; the next sync continues from there");
  });

  test("while the length of a list is not known, nothing is said of the days to come", () => {
    const remaining = { remaining: 5 };
    expect(lines({ credits: remaining, forecast: { atLeast: true }, outlook: { leftAtReset: 4 } })).toEqual([
      "5 credits left",
    ]);
  });

  test("changes are named where the last syncs found any", () => {
    expect(lines({ outlook: { expectedPerDay: 8 } })).toEqual([`${DAILY}, with the changes of the last syncs about 8`]);
  });
});

describe("a deficit", () => {
  const short = { short: 40, emptyOn: Date.UTC(2026, 10, 24) };

  test("says when the credits are used up, and how many are missing until the reset", () => {
    expect(lines({ outlook: short, credits: { resetsAt: RESET } })).toContain(
      "empty on 24 November, 40 short until the reset on 1 December",
    );
    expect(lines({ outlook: { short: 40 } })).toContain("40 short");
    expect(lines({ outlook: { short: 0 } })).toEqual([DAILY]);
  });

  test("says what pace even would leave old, also where it is configured", () => {
    const aging = [
      { stream: "contacts", days: 8.2 },
      { stream: "filings", days: null },
      { stream: "usage", days: null },
    ] as const;
    expect(lines({ outlook: { short: 40, aging } })).toContain(
      "40 short; with pace even contacts would be 9 days old at worst, and filings and usage would not be read again before the reset",
    );
    expect(lines({ pace: "even", outlook: { short: 40, aging: aging.slice(0, 1) } })).toContain(
      "40 short; with pace even, as configured, contacts would be 9 days old at worst",
    );
  });
});

describe("a surplus", () => {
  test("says how much is left at the reset, and whether it comes over", () => {
    const left = (shown: PlanReport["rollOver"]["shown"]) =>
      lines({ outlook: { leftAtReset: 70 }, rollOver: { shown } })[1];
    expect(left("seen")).toMatch(
      /^about 70 will be left at the reset; unspent credits roll over .* the last reset showed it$/,
    );
    expect(left("absent")).toMatch(/do not come over$/);
    expect(left("unknown")).toMatch(/by the service's documentation$/);
    expect(lines({ outlook: { leftAtReset: -1 } })).toEqual([DAILY]);
  });

  test("names the periods it covers, by what a period grants without the credits that came over", () => {
    const outlook = { leftAtReset: 70, coveredPeriods: 2, perPeriod: 90 };
    expect(lines({ outlook, credits: { limit: 500 }, rollOver: { grant: 60 } })[1]).toMatch(
      /; 30 days need about 90 of 60, so they cover 2 more periods$/,
    );
    expect(lines({ outlook, credits: { limit: 80 } })[1]).toMatch(/about 90 of 80,/);
  });
});

test("what is not known is named with the command that finds it out, and the credits that takes", () => {
  const unknown = (...streams: PlanReport["forecast"]["unknown"]) =>
    unknownLinesOf(aReport({ forecast: { unknown: streams } }));
  expect(unknown()).toEqual([]);
  expect(unknown("signals")).toEqual([
    "not known: the length of signals",
    expect.stringMatching(/^`duckmirror check --totals` .* for three credits$/),
  ]);
  const [first, ways] = unknown("accounts", "contacts", "usage");
  expect(first).toMatch(/^not known: the lengths of accounts, contacts and usage, .* companies and insights/);
  expect(unknown("contacts")[0]).not.toContain("insights");
  expect(ways).toMatch(/^`duckmirror check` .* for one credit; `duckmirror check --totals` .* for three credits$/);
});

test("the projection lists the streams that cost something, also only with content, and nothing while lengths are unknown", () => {
  const stream = (name: "signals" | "filings" | "usage", creditsPerDay: number, withContent: number) =>
    ({ stream: name, creditsPerDay, changesPerDay: 0, withoutContent: 0, withContent }) as const;
  const streams = [stream("signals", 1.5, 4), stream("filings", 0, 2), stream("usage", 0, 0)];
  const [title, table] = projectionOf(aReport({ outlook: { streams } }), 80);
  expect(title).toMatch(/^Credits a day from then on\b.*:$/);
  expect(table).toMatch(/signals.*1\.5/);
  expect(table).toContain("filings");
  expect(table).not.toContain("usage");
  expect(projectionOf(aReport({ outlook: { streams }, forecast: { atLeast: true } }), 80)).toEqual([]);
  expect(projectionOf(aReport({ outlook: { streams: streams.slice(2) } }), 80)).toEqual([]);
});
