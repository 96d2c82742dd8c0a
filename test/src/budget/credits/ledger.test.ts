// The ledger: whatever overtakes, dies or is refunded, no more is spent than allowed, and in the end no less.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Quota } from "../../../../src/api/outcome.ts";
import {
  type LedgerState,
  observe,
  openLedger,
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
  interface Flight {
    readonly sentAt: number;
    readonly landsAt: number;
    readonly fate: "ok" | "silent" | "missing" | "dies" | "dies-uncharged";
    charged: number | null;
  }
  const fates = fc.constantFrom<Flight["fate"]>("ok", "ok", "ok", "ok", "silent", "missing", "dies", "dies-uncharged");
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

  test("a denial while requests are in flight says that credits may come back", () => {
    let state = take(take(openLedger(limits({ maxCredits: 2 }))));
    expect(denial(state)).toEqual({ code: "BUDGET_SPENT", settling: true });
    state = settle(state, "free", T0);
    expect(denial(state)).toBeNull();
  });

  test("with a reserve or even pacing, one request goes alone until what is left is known", () => {
    for (const careful of [limits({ reserve: 5 }), limits({ pace: "even" })]) {
      const first = take(openLedger(careful));
      expect(denial(first)).toEqual({ code: "BUDGET_SPENT", settling: true });
      expect(denial(observe(settle(first, "spent", T0 + 1), quota(100), T0, T0 + 1), T0 + 1)).toBeNull();
    }
    expect(denial(take(openLedger(limits())))).toBeNull();
  });

  test("even pacing shares what is left among the runs until the reset", () => {
    // 20 days, a run a day: 100 credits, the first one already spent, make 5 a run.
    let state = spend(openLedger(limits({ pace: "even" })), 99);
    expect(snapshotOf(state, T0).allowance).toBe(5);
    for (let left = 98; left > 94; left -= 1) state = spend(state, left);
    expect(denial(state)?.code).toBe("BUDGET_SPENT");
    // Never less than one: a run that may do nothing is none.
    expect(snapshotOf(spend(openLedger(limits({ pace: "even" })), 3), T0).allowance).toBe(1);
    // Without a reset there is nothing to divide by.
    const unknown = observe(settle(take(openLedger(limits({ pace: "even" }))), "spent", T0), quota(99, null), T0, T0);
    expect(snapshotOf(unknown, T0).allowance).toBe(100);
  });
});

describe("the service's figures", () => {
  test("always win: what others spent counts", () => {
    const state = spend(spend(openLedger(limits()), 100), 3);
    expect(snapshotOf(state, T0)).toMatchObject({ spent: 2, allowance: 5, remaining: 3 });
  });

  test("the lowest counts when answers overtake one another, and a credit is not counted twice", () => {
    let state = take(take(openLedger(limits())));
    state = observe(settle(state, "spent", T0 + 200), quota(3), T0 + 10, T0 + 200);
    state = observe(settle(state, "spent", T0 + 300), quota(4), T0, T0 + 300);
    expect(snapshotOf(state, T0 + 300)).toMatchObject({ remaining: 3, spent: 2, allowance: 5 });
  });

  test("requests without a figure are subtracted until a later answer shows them", () => {
    let state = spend(openLedger(limits()), 10);
    state = settle(take(state), "spent", T0 + 200);
    expect(snapshotOf(state, T0)).toMatchObject({ allowance: 11, remaining: 9 });
    expect(denial(take(take(state)))).toBeNull();
    state = spend(state, 8, T0 + 300);
    expect(snapshotOf(state, T0)).toMatchObject({ spent: 3, allowance: 11 });
  });

  test("remaining may be left out when limit and used are there", () => {
    const said = quota(null, RESET, { limit: 100, used: 40 });
    expect(snapshotOf(observe(openLedger(limits()), said, T0, T0), T0).remaining).toBe(60);
  });

  test("a new period starts afresh; a late answer from the old one changes nothing", () => {
    const next = RESET + 30 * DAY;
    let state = spend(openLedger(limits()), 0);
    expect(denial(state)?.code).toBe("QUOTA_SPENT");
    // After the reset nobody knows what is left: asking is allowed.
    expect(denial(state, RESET)).toBeNull();
    state = observe(settle(take(state, RESET), "spent", RESET + 50), quota(999, next), RESET, RESET + 50);
    state = observe(state, quota(0, RESET), RESET - 10, RESET + 60);
    expect(snapshotOf(state, RESET + 60)).toMatchObject({ remaining: 999, resetsAt: next });
  });

  test("a period that the service still reports hours after its end by this clock, which is ahead, keeps the reserve", () => {
    const kept = limits({ reserve: 50 });
    const spendAll = (first: LedgerState, from: number, now: number) => {
      let state = first;
      let left = from;
      while (left > 0 && denial(state, now) === null) {
        left -= 1;
        state = spend(state, left, now);
      }
      return { left, denied: denial(state, now), allowance: snapshotOf(state, now).allowance };
    };
    const late = RESET + 2 * 3_600_000;
    const denied = { code: "BUDGET_SPENT", settling: false };
    expect(spendAll(openLedger(kept), 60, late)).toEqual({ left: 50, denied, allowance: 10 });
    // The clock was corrected, or the end came, within the run.
    expect(spendAll(spend(openLedger(kept), 60), 60, late)).toMatchObject({ left: 50, denied });
    // Answers to requests from before the end are late, and the service may be.
    const across = spend(spend(openLedger(kept), 60), 20, RESET - 1, RESET + 500);
    expect(denial(spend(across, 20, RESET + 1_000), RESET + 2_000)).toBeNull();
    // The next period's figure counts.
    const behind = spend(openLedger(kept), 50, late);
    expect(denial(behind, late)).toEqual(denied);
    expect(denial(observe(behind, quota(900, RESET + 30 * DAY), late, late), late)).toBeNull();
  });

  test("a reset that is always a month from now is one period, not one per answer", () => {
    let state = observe(openLedger(limits()), quota(5, RESET + 900), T0 + 900, T0 + 900);
    state = observe(state, quota(7, RESET), T0, T0 + 950);
    expect(snapshotOf(state, T0 + 950).remaining).toBe(5);
  });
});

describe("requests that died without an answer", () => {
  const died = (before: LedgerState) => settle(take(before), "ambiguous", T0 + 1_000);

  test("count as spent against --max-credits", () => {
    const state = died(openLedger(limits({ maxCredits: 1 })));
    expect(snapshotOf(state, T0)).toMatchObject({ spent: 0, ambiguous: 1 });
    expect(denial(state)?.code).toBe("BUDGET_SPENT");
  });

  test("are settled by the next figure that can tell: charged or not", () => {
    const state = died(spend(openLedger(limits()), 100));
    const later = T0 + 120_000;
    expect(snapshotOf(spend(state, 98, later), later)).toMatchObject({ spent: 3, ambiguous: 0 });
    expect(snapshotOf(spend(state, 99, later), later)).toMatchObject({ spent: 2, ambiguous: 0 });
  });

  test("stay open while the service may still be serving them, while others are in flight, and when figures rise", () => {
    const state = died(spend(openLedger(limits()), 100));
    const open = { ambiguous: 1 };
    expect(snapshotOf(spend(state, 99, T0 + 2_000), T0)).toMatchObject(open);
    const later = T0 + 120_000;
    expect(snapshotOf(spend(take(state, later), 99, later), later)).toMatchObject(open);
    expect(snapshotOf(spend(state, 400, later), later)).toMatchObject(open);
  });
});
