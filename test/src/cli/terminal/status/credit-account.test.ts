// Credits in `status`: what is left, who spent it, and what is not decided.
import { expect, test } from "vitest";
import {
  creditLines,
  deliveryLines,
  diskJson,
  diskLines,
  forecastLines,
  medianError,
} from "../../../../../src/cli/terminal/status/credit-account.ts";
import type { DeliveryFigures } from "../../../../../src/deliver/delivery-results.ts";
import { DISK_PARTS, type DiskUsage } from "../../../../../src/warehouse/read/disk-usage.ts";
import type { CreditStatus } from "../../../../../src/warehouse/read/read-credits.ts";

// Destinations in `status`.

// What a mirror takes on disk, in `status`.

const usage = (bytes: Partial<DiskUsage["bytes"]>, growth: DiskUsage["growth"] = null): DiskUsage => ({
  bytes: { ...NOTHING, ...bytes },
  total: Object.values(bytes).reduce((sum, size) => sum + size, 0),
  archiveFiles: 1,
  growth,
});
const NOTHING: DiskUsage["bytes"] = {
  ...{ snapshot: 0, working: 0, responses: 0, journal: 0, intents: 0 },
  ...{ baseline: 0, kept_snapshots: 0, old_copies: 0, export: 0, audit: 0, other: 0 },
};

test("parts that take nothing are not named, and only the snapshot has free blocks", () => {
  expect(diskLines(usage({ snapshot: 2 ** 20, old_copies: 512 }), 0.126)).toEqual([
    "disk: 1.0 MiB (snapshot 1.0 MiB, 13% of it free blocks; old copies 512 B)",
  ]);
  expect(Object.keys(NOTHING).sort()).toEqual([...DISK_PARTS].sort());
});

test.each([
  [true, "archive: 1 file; it grew by 1.0 KiB in 2026-01"],
  [false, "archive: 1 file; it grew by 1.0 KiB in 2026-01 so far"],
])("growth is that of a whole month: %s", (whole, line) => {
  expect(diskLines(usage({}, { month: "2026-01", whole, bytes: 1024 }), 0)[1]).toBe(line);
});

test("for programs the share of free blocks has three digits", () => {
  expect(diskJson(usage({}), 0.12345)).toMatchObject({ snapshot_free_share: 0.123, archive_growth: null });
});

const FIGURE: DeliveryFigures = {
  ...{ name: "failing", kind: "parquet", state: "up to date", change: 7, behindMs: 0, deliveredAt: 1, lastMs: 20 },
  ...{ leftOut: [], failing: null },
};
const failing = { code: "DESTINATION_AWAY", since: 3, at: 9, attempts: 4, givenUp: false };

test.each<[string, Partial<DeliveryFigures>, RegExp]>([
  [
    "at the newest change is not behind, nor red whatever it is called",
    {},
    /│ failing +│ parquet │ up to date │ no +│ 1 ago/,
  ],
  ["behind says by how much", { behindMs: 90_000, state: "behind" }, /│ behind │ 1m 30s │/],
  ["that holds nothing is not compared", { behindMs: null, deliveredAt: null, state: "never delivered" }, /│ +│ never/],
  [
    "that failed once has the code with its time",
    { state: "failing", failing: { ...failing, attempts: 1 } },
    /!failing: DESTINATION_AWAY, 9 ago!/,
  ],
  [
    "that was given up says how often and since when",
    { state: "given up", failing },
    /!given up: DESTINATION_AWAY, 4 times since 3 ago!/,
  ],
])("a destination %s", (_, more, line) => {
  const ago = (ms: number | null) => (ms === null ? "never" : `${ms} ago`);
  const lines = deliveryLines([{ ...FIGURE, ...more }], 200, ago, (text) => `!${text.trim()}!`);
  expect(lines.join("\n")).toMatch(line);
});

test("without destinations there is no table", () => {
  expect(deliveryLines([], 200, String, String)).toEqual([]);
});

// How well the last syncs were foreseen, in `status`.

const forecasts = (...errors: (number | null)[]): Parameters<typeof forecastLines>[0] =>
  errors.map((error_percent, nth) => ({
    ...{ run_id: `r${nth}`, started_at: nth, credits: 10, spent: 10, at_least: false },
    error_percent,
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
  request_id: `r-${nth}`,
  run_id: "r",
  endpoint: "accounts",
  url: `/v1/accounts?page=${nth}`,
  started_at: nth,
  error,
});
const lines = (credits: Partial<typeof figures>, more: Partial<CreditStatus> = {}) =>
  creditLines({ credits: { ...figures, ...credits }, undecided: [], pending: 0, ...more }, (ms) => `${ms} ago`);

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
