// The ledger: whatever overtakes, dies or is refunded, no more is spent than allowed, and in the end no less.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Quota } from "../../../../src/api/outcome.ts";
import {
  isLaterQuota,
  type LedgerState,
  observe,
  openLedger,
  type QuotaSeen,
  reserve,
  settle,
  snapshotOf,
} from "../../../../src/budget/credits/ledger.ts";
import { limits } from "../limits.ts";

const T0 = Date.UTC(2026, 0, 5, 10);
const DAY = 86_400_000;
const RESET = T0 + 20 * DAY;

const quota = (remaining: number | null, resetsAt: number | null = RESET, more: Partial<Quota> = {}): Quota => ({
  limit: 1_000,
  used: null,
  remaining,
  resetsAt,
  ...more,
});

const take = (state: LedgerState, now = T0): LedgerState => {
  const result = reserve(state, now);
  if (!result.ok) throw new Error(`denied: ${result.code}`);
  return result.state;
};
const denial = (state: LedgerState, now = T0) => {
  const result = reserve(state, now);
  return result.ok ? null : { code: result.code, settling: result.settling };
};
/** One request from reservation to answer: sent at `sentAt`, charged, and reporting `remaining`. */
const spend = (state: LedgerState, remaining: number | null, sentAt = T0, at = sentAt + 100): LedgerState =>
  observe(settle(take(state, sentAt), "spent", at), quota(remaining), sentAt, at);

describe("any interleaving", () => {
  const fates = fc.constantFrom("ok", "ok", "ok", "ok", "silent", "missing", "dies", "dies-uncharged");
  const scenario = fc.record({
    credits: fc.integer({ min: 0, max: 60 }),
    maxCredits: fc.option(fc.integer({ min: 0, max: 60 })),
    keep: fc.integer({ min: 0, max: 20 }),
    concurrency: fc.integer({ min: 1, max: 8 }),
    flights: fc.array(fc.record({ fate: fates, toServer: fc.nat({ max: 500 }), back: fc.nat({ max: 500 }) }), {
      minLength: 150,
      maxLength: 150,
    }),
  });

  test("spends no more than allowed and leaves the reserve alone; what is left over is explained", () => {
    fc.assert(
      fc.property(scenario, ({ credits, maxCredits, keep, concurrency, flights }) => {
        let state = openLedger(limits({ maxCredits, reserve: keep }));
        let upstream = credits;
        let charged = 0;
        let now = T0;
        let firstFigure: number | null = null;
        let lastDenial: ReturnType<typeof denial> = null;
        const waiting = [...flights];
        const air: {
          flight: (typeof flights)[number];
          sentAt: number;
          arrives: number;
          lands: number;
          figure: number | null;
          paid: boolean;
        }[] = [];
        for (;;) {
          lastDenial = null;
          while (air.length < concurrency && waiting.length > 0) {
            const result = reserve(state, now);
            if (!result.ok) {
              lastDenial = { code: result.code, settling: result.settling };
              break;
            }
            state = result.state;
            const flight = waiting.shift();
            if (flight === undefined) break;
            const arrives = now + flight.toServer;
            air.push({ flight, sentAt: now, arrives, lands: arrives + flight.back, figure: null, paid: false });
          }
          const next = [...air].sort(
            (a, b) => (a.figure === null ? a.arrives : a.lands) - (b.figure === null ? b.arrives : b.lands),
          )[0];
          if (next === undefined) break;
          if (next.figure === null) {
            now = Math.max(now, next.arrives);
            const chargeable = next.flight.fate !== "missing" && next.flight.fate !== "dies-uncharged";
            next.paid = chargeable && upstream > 0;
            if (next.paid) {
              upstream -= 1;
              charged += 1;
            }
            next.figure = upstream;
            continue;
          }
          now = Math.max(now, next.lands) + 1;
          air.splice(air.indexOf(next), 1);
          const { fate } = next.flight;
          const died = fate === "dies" || fate === "dies-uncharged";
          state = settle(state, died ? "ambiguous" : next.paid ? "spent" : "free", now);
          if (fate === "ok" || fate === "missing") {
            firstFigure ??= next.figure;
            state = observe(state, quota(next.figure), next.sentAt, now);
          }
          const { spent, ambiguous, reserved, allowance } = snapshotOf(state, now);
          if (allowance !== null) expect(spent + ambiguous + reserved).toBeLessThanOrEqual(allowance);
          now += 1;
        }
        if (maxCredits !== null) expect(charged).toBeLessThanOrEqual(maxCredits);
        const { spent, ambiguous } = snapshotOf(state, now);
        // Before the first figure nothing is known of the reserve; from then on it is left alone.
        expect(upstream).toBeGreaterThanOrEqual(Math.min(keep, firstFigure ?? 0));
        // Denied for good: either the run's own limit is reached, or nothing is left but the reserve, what the requests
        // that died may have cost, and what came without a figure just before the end.
        if (lastDenial !== null && waiting.length > 0) {
          const reached = maxCredits !== null && spent + ambiguous >= maxCredits;
          if (!reached) expect(upstream - keep).toBeLessThanOrEqual(ambiguous + state.unseen.length);
        }
      }),
      { numRuns: Number(process.env.DUCKMIRROR_PROPERTY_RUNS ?? 1_000) },
    );
  });
});

describe("the allowance", () => {
  test("the run's own limit, then the organization's credits less the reserve", () => {
    let state = spend(openLedger(limits({ maxCredits: 2 })), 500);
    expect(snapshotOf(state, T0)).toMatchObject({
      spent: 1,
      allowance: 2,
      remaining: 500,
      limit: 1_000,
      resetsAt: RESET,
    });
    state = spend(state, 499);
    expect(denial(state)).toEqual({ code: "BUDGET_SPENT", settling: false });

    const reserved = spend(openLedger(limits({ reserve: 10 })), 10);
    expect(denial(reserved)).toEqual({ code: "BUDGET_SPENT", settling: false });
    expect(denial(spend(openLedger(limits()), 0))).toEqual({ code: "QUOTA_SPENT", settling: false });
  });

  test("with a reserve or even pacing, one request goes alone until what is left is known", () => {
    for (const careful of [limits({ reserve: 5 }), limits({ pace: "even" })]) {
      const first = take(openLedger(careful));
      expect(denial(first)).toEqual({ code: "BUDGET_SPENT", settling: true });
      expect(denial(observe(settle(first, "spent", T0 + 1), quota(100), T0, T0 + 1), T0 + 1)).toBeNull();
    }
    expect(denial(take(openLedger(limits())))).toBeNull();
  });
});

// Which of several figures is the latest.

const seen = (used: number, sentAt: number, receivedAt: number, more: Partial<QuotaSeen["quota"]> = {}): QuotaSeen => ({
  quota: { limit: 10_000, used, remaining: 10_000 - used, resetsAt: RESET, ...more },
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
  const next = seen(3, 1_900, 2_100, { resetsAt: RESET + 30 * DAY });
  expect(isLaterQuota(known, next)).toBe(true);
  expect(isLaterQuota(next, known)).toBe(false);
});
