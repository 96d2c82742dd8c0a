import fc from "fast-check";
import { expect, test } from "vitest";
import { isLaterQuota, type QuotaSeen } from "../../../../src/budget/credits/ledger.ts";

const MONTH_END = Date.UTC(2026, 11, 1);
const seen = (used: number, sentAt: number, receivedAt: number, more: Partial<QuotaSeen["quota"]> = {}): QuotaSeen => ({
  quota: { limit: 10_000, used, remaining: 10_000 - used, resetsAt: MONTH_END, ...more },
  sentAt,
  receivedAt,
});

test("of answers that overtook one another the one with more used is the latest, in whichever order they arrive", () => {
  const answers = fc.array(fc.tuple(fc.nat(500), fc.nat(3000)), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(answers, (flights) => {
      // The service counts requests when it answers them; answers arrive up to 3 s later.
      const counted = flights
        .map(([sentAt], index) => ({ sentAt, index }))
        .sort((a, b) => a.sentAt - b.sentAt || a.index - b.index)
        .map(({ sentAt, index }, used) => seen(used + 1, sentAt, sentAt + (flights[index]?.[1] ?? 0)));
      const arrived = [...counted].sort((a, b) => a.receivedAt - b.receivedAt);
      const latest = arrived.reduce<QuotaSeen | null>(
        (known, next) => (isLaterQuota(known, next) ? next : known),
        null,
      );
      expect(latest?.quota.used).toBe(flights.length);
    }),
  );
});

test("credits given back show in an answer to a request that was sent afterwards, not in one under way together", () => {
  const known = seen(9_641, 1_000, 2_000);
  expect(isLaterQuota(known, seen(9_638, 1_500, 2_500))).toBe(false);
  expect(isLaterQuota(known, seen(9_638, 60_000, 60_500))).toBe(true);
});

test("bought credits raise the limit and show at once", () => {
  const known = seen(500, 1_000, 2_000);
  expect(isLaterQuota(known, seen(500, 1_500, 2_500, { limit: 20_000, remaining: 19_500 }))).toBe(true);
});

test("a new period counts from the start; what is left over from the old one does not come back", () => {
  const known = seen(9_900, 1_000, 2_000);
  const next = seen(3, 1_900, 2_100, { resetsAt: Date.UTC(2027, 0, 1) });
  expect(isLaterQuota(known, next)).toBe(true);
  expect(isLaterQuota(next, known)).toBe(false);
});
