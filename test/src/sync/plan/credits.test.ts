// The mirror's readings of the quota: what the resets so far have shown, as plan and pace use it.
import { expect, test } from "vitest";
import type { Quota } from "../../../../src/api/outcome.ts";
import { creditsNow, grantOf, readRollOver } from "../../../../src/sync/plan/credits.ts";
import { aWarehouse } from "../../warehouse/builders.ts";

test("credits that came over at the last reset are seen, and pace even is told what a period grants", async () => {
  const warehouse = await aWarehouse();
  const read = (capturedAt: string, remaining: number, used: number, resetsAt: string) =>
    warehouse.commit({
      runId: "r",
      loads: [],
      requests: [],
      scopes: [],
      quota: { capturedAt: Date.parse(capturedAt), limit: 100, used, remaining, resetsAt: Date.parse(resetsAt) },
    });
  await read("2026-10-02", 99, 1, "2026-11-01");
  expect(grantOf(await readRollOver(warehouse.database))).toEqual({});
  await read("2026-10-28", 40, 60, "2026-11-01");
  await read("2026-11-03", 139, 1, "2026-12-01");
  await read("2026-11-20", 20, 120, "2026-12-01");
  const seen = await readRollOver(warehouse.database);
  expect(seen).toEqual({ shown: "seen", grant: 100, periodMs: 30 * 86_400_000 });
  expect(grantOf(seen)).toEqual({ rollsOver: { credits: 100, periodMs: 30 * 86_400_000 } });
  await warehouse.close();
});

// What is known of the credits now, from a reading that may be of a period that is over.

const DAY = 86_400_000;
const RESET = Date.UTC(2026, 10, 1);
const reading = (more: Partial<Quota> = {}): Quota => ({
  limit: 1000,
  used: 400,
  remaining: 600,
  resetsAt: RESET,
  ...more,
});

test("until its reset a reading is true; without one, or without a reset, nothing is added", () => {
  expect(creditsNow(reading(), RESET - 1)).toEqual({ used: 400, remaining: 600, limit: 1000, resetsAt: RESET });
  expect(creditsNow(reading({ resetsAt: null }), RESET + DAY)).toMatchObject({ remaining: 600, resetsAt: null });
  expect(creditsNow(null, RESET)).toEqual({ used: null, remaining: null, limit: null, resetsAt: null });
});

test("after the reset the new period has its credits and those that were left", () => {
  const next = Date.UTC(2026, 11, 1);
  expect(creditsNow(reading(), RESET)).toEqual({ used: 0, remaining: 1600, limit: 1000, resetsAt: next });
  const seen = { shown: "seen", grant: 900, periodMs: null } as const;
  expect(creditsNow(reading(), RESET, seen)).toMatchObject({ remaining: 1500, limit: 900 });
  expect(creditsNow(reading(), RESET, { ...seen, shown: "absent" })).toMatchObject({ remaining: 900 });
});

test("after two resets, or where the remainder was not reported, nothing but the limit is known", () => {
  const unknown = { used: null, remaining: null, limit: 1000, resetsAt: null };
  expect(creditsNow(reading(), Date.UTC(2026, 11, 1))).toEqual(unknown);
  expect(creditsNow(reading({ used: null, remaining: null }), RESET)).toEqual(unknown);
  expect(creditsNow(reading({ limit: null }), RESET)).toEqual({ ...unknown, limit: null });
});

test.each([
  ["2026-01-31T12:00:00.000Z", "2026-02-28T12:00:00.000Z"],
  ["2026-01-29T00:00:00.000Z", "2026-02-28T00:00:00.000Z"],
  ["2026-03-31T00:00:00.000Z", "2026-04-30T00:00:00.000Z"],
  ["2026-12-31T00:00:00.000Z", "2027-01-31T00:00:00.000Z"],
])("a period that ended on %s is followed by one that ends on %s", (ended, ends) => {
  const resetsAt = new Date(ended).getTime();
  expect(creditsNow(reading({ resetsAt }), resetsAt).resetsAt).toBe(new Date(ends).getTime());
});
