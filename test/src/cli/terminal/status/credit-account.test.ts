// Credits in `status`: what is left, who spent it, and what is not decided.
import { expect, test } from "vitest";
import {
  creditJson,
  creditLines,
  forecastLines,
  medianError,
} from "../../../../../src/cli/terminal/status/credit-account.ts";
import type { CreditStatus } from "../../../../../src/warehouse/read/read-credits.ts";

// How well the last syncs were foreseen, in `status`.

const forecasts = (...errors: (number | null)[]): Parameters<typeof forecastLines>[0] =>
  errors.map((errorPercent, nth) => ({
    ...{ runId: `r${nth}`, startedAt: nth, credits: 10, spent: 10, atLeast: false },
    errorPercent,
  }));

test("the median has no sign, and leaves out syncs that compare with nothing", () => {
  expect(medianError(forecasts(4, -30, null, 2))).toBe(4);
  expect(medianError(forecasts(-30))).toBe(30);
  expect([medianError([]), medianError(forecasts(null))]).toEqual([null, null]);
});

test("nothing is said before the first comparison, one sync has its error, several their median", () => {
  expect(forecastLines(forecasts(null))).toEqual([]);
  expect(forecastLines(forecasts(4))).toEqual(["forecast of the last sync: off by +4%"]);
  expect(forecastLines(forecasts(0, null))).toEqual(["forecast of the last sync: off by 0%"]);
  expect(forecastLines(forecasts(4, -2, 10))).toEqual([
    "forecasts of the last 3 syncs: off by 4% in the median (+4%, -2%, +10%)",
  ]);
});

const figures: NonNullable<CreditStatus["credits"]> = {
  limit: 1000,
  used: 400,
  remaining: 600,
  resetsAt: Date.UTC(2026, 1, 1),
  capturedAt: 5,
  spentHere: 400,
  ambiguousHere: 0,
  spentByOthers: 0,
  uncounted: 0,
};
const undecided = (nth: number, error: string | null = null): CreditStatus["undecided"][number] => ({
  requestId: `r-${nth}`,
  runId: "r",
  endpoint: "accounts",
  url: `/v1/accounts?page=${nth}`,
  startedAt: nth,
  error,
});
const lines = (credits: Partial<typeof figures>, more: Partial<CreditStatus> = {}) =>
  creditLines({ credits: { ...figures, ...credits }, undecided: [], pending: 0, ...more }, (ms) => `${ms} ago`);

test("one line says what is left, until when, and what this mirror spent", () => {
  expect(lines({})).toEqual([
    "credits: 600 of 1,000 left, reset 2026-02-01 00:00 UTC (reported 5 ago); 400 spent by this mirror in this period",
  ]);
});

test("without a reset the last month counts, and an unknown limit is not named", () => {
  expect(lines({ resetsAt: null, limit: null })[0]).toBe(
    "credits: 600 left (reported 5 ago); 400 spent by this mirror in the month before",
  );
});

test.each([
  [{ spentByOthers: 30 }, "; the service counts 30 more, spent by others"],
  [{ uncounted: 2, spentByOthers: null }, "; the service counts 2 fewer"],
  [{ spentByOthers: null }, "in this period"],
  [{ ambiguousHere: 3 }, "in this period, 3 more may have been"],
])("a difference to the service's count is named: %j", (credits, end) => {
  expect(lines(credits)[0]?.endsWith(end)).toBe(true);
});

test("five undecided requests are named, the others counted; an unknown end is no answer", () => {
  const many = Array.from({ length: 7 }, (_, nth) => undecided(nth, nth === 0 ? null : "ECONNRESET"));
  const found = lines({}, { undecided: many, pending: 1 }).slice(1);
  expect(found).toHaveLength(7);
  expect(found[0]).toBe("undecided: /v1/accounts?page=0 (0 ago): no answer");
  expect(found[1]).toContain("ECONNRESET");
  expect(found.slice(5)).toEqual([
    "undecided: 2 more requests; --json names them",
    "1 request of other commands will enter the ledger with the next sync",
  ]);
});

test("before the first report there are no credits, and undecided requests all the same", () => {
  const status: CreditStatus = { credits: null, undecided: [undecided(1)], pending: 0 };
  expect(creditLines(status, String)[0]).toBe("credits: the service has not reported any yet");
  expect(creditLines(status, String)).toHaveLength(2);
  expect(creditJson(status)).toBeNull();
});
