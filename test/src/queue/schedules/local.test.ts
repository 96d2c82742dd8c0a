// Without Redis a schedule runs at the times of its one meaning, also over a sleeping machine and a clock that is set.
import { expect, test } from "vitest";
import { TICKS } from "../../../../src/queue/redis/queues.ts";
import { createDueCheck } from "../../../../src/queue/schedules/local.ts";

const at = (text: string) => Date.parse(text);

test("a check each minute finds each time once; the day in which the clocks change has one run of 2:30", () => {
  const start = at("2026-03-28T00:00:00Z");
  const isDue = createDueCheck({ cron: "30 2 * * *", timeZone: "Europe/Berlin" }, start);
  const found: string[] = [];
  for (let now = start; now < start + 3 * 86_400_000; now += 60_000) {
    if (isDue(now)) found.push(new Date(now).toISOString());
  }
  expect(found).toEqual(["2026-03-28T01:30:00.000Z", "2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"]);
});

test("times that passed while the machine slept are one run; a clock that is set back repeats none", () => {
  const isDue = createDueCheck({ cron: "0 * * * *", timeZone: "UTC" }, at("2026-01-01T00:30:00Z"));
  expect(isDue(at("2026-01-01T09:10:00Z"))).toBe(true);
  expect(isDue(at("2026-01-01T09:11:00Z"))).toBe(false);
  expect(isDue(at("2026-01-01T05:00:00Z"))).toBe(false);
  expect(isDue(at("2026-01-01T05:59:00Z"))).toBe(false);
  expect(isDue(at("2026-01-01T06:00:00Z"))).toBe(true);
});

test("with Redis, BullMQ gets the same next time; it makes no tick of an expression that only an older program knows", () => {
  const next = (pattern: string) => TICKS.repeatStrategy(at("2026-03-29T00:00:00Z"), { pattern, tz: "Europe/Berlin" });
  expect(next("30 2 * * *")).toBe(at("2026-03-29T01:00:00Z"));
  expect(next("0 5 30 * 0")).toBe(at("2026-03-29T03:00:00Z"));
  expect(next("0 22-2 * * *")).toBe(at("2026-03-29T01:00:00Z"));
  expect(next("0 5 L * *")).toBeUndefined();
});
