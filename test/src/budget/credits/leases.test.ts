// Credits of an organization, whichever process dies: never more in use than the service has left, and no credit lost
// for good.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  lapse,
  observeLedger,
  openSharedLedger,
  renewLeases,
  reserveLease,
  restoreLeases,
  type SharedLedger,
  settleLease,
} from "../../../../src/budget/credits/leases.ts";
import { type Charge, snapshotOf } from "../../../../src/budget/credits/ledger.ts";
import { limits } from "../limits.ts";

const T0 = Date.UTC(2026, 0, 5, 10);
const RESET = T0 + 20 * 86_400_000;
const LIMITS = limits();
const TERM = 10_000;

const quota = (remaining: number, resetsAt = RESET) => ({ limit: 1_000, used: null, remaining, resetsAt });
const known = (remaining: number): SharedLedger => observeLedger(openSharedLedger(LIMITS), quota(remaining), T0, T0);
const lease = (id: string) => ({ id, leaseMs: TERM });
const take = (state: SharedLedger, id: string, now = T0): SharedLedger => {
  const result = reserveLease(state, lease(id), now);
  if (!result.ok) throw new Error(`denied: ${result.code}`);
  return result.state;
};

type Event =
  | { readonly kind: "ask"; readonly pauseMs: number; readonly dies: boolean; readonly charged: boolean }
  | { readonly kind: "end"; readonly pauseMs: number; readonly which: number; readonly reported: boolean }
  | { readonly kind: "forget"; readonly pauseMs: number };

const pauseMs = fc.nat({ max: 4_000 });
const events = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant("ask" as const), pauseMs, dies: fc.boolean(), charged: fc.boolean() }),
    },
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant("end" as const), pauseMs, which: fc.nat(), reported: fc.boolean() }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("forget" as const), pauseMs }) },
  ),
  { maxLength: 120 },
);

test("whatever dies, ends late or is forgotten: what is set aside and what is open are the same, and never too much", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 30 }), events, (credits, script: readonly Event[]) => {
      let state = known(credits);
      let upstream = credits;
      let now = T0;
      let made = 0;
      let forgotten = 0;
      /** Sent and not answered, dead ones too: the service has decided over each. */
      const air: { readonly id: string; readonly dies: boolean; readonly charged: boolean; readonly sentAt: number }[] =
        [];
      for (const event of script) {
        now += event.pauseMs;
        if (event.kind === "ask") {
          made += 1;
          const id = String(made);
          const result = reserveLease(state, lease(id), now);
          state = result.state;
          if (!result.ok) continue;
          // Its credit is there when it arrives: that is what was promised.
          expect(upstream).toBeGreaterThan(0);
          const charged = event.charged && upstream > 0;
          if (charged) upstream -= 1;
          air.push({ id, dies: event.dies, charged, sentAt: now });
        } else if (event.kind === "end") {
          const alive = air.filter(({ dies }) => !dies);
          const flight = alive[event.which % Math.max(1, alive.length)];
          if (flight === undefined) continue;
          air.splice(air.indexOf(flight), 1);
          const charge: Charge = flight.charged ? "spent" : "free";
          state = settleLease(state, flight.id, charge, now);
          if (event.reported) state = observeLedger(state, quota(upstream), flight.sentAt, now);
        } else if (forgotten === 0) {
          // The store lost its memory: living processes bring back what they hold, and ask again what is left.
          forgotten += 1;
          const held = air.filter(({ dies }) => !dies).map(({ id }) => lease(id));
          state = observeLedger(restoreLeases(openSharedLedger(LIMITS), held, now), quota(upstream), now, now);
        }
        expect(state.ledger.reserved).toBe(state.open.length);
        expect(state.lapsed.length).toBeLessThanOrEqual(
          state.ledger.ambiguous.length + state.ledger.unseenAmbiguous.length,
        );
      }
    }),
    { numRuns: 500 },
  );
});

test("a reservation runs out at its term, not before, and a renewal moves that", () => {
  const state = take(take(known(10), "1"), "2");
  expect(lapse(state, T0 + TERM - 1)).toBe(state);
  const later = lapse(renewLeases(state, new Set(["2"]), T0 + TERM - 1), T0 + TERM);
  expect(later.open.map(({ id }) => id)).toEqual(["2"]);
  expect(snapshotOf(later.ledger, T0 + TERM)).toMatchObject({ reserved: 1, ambiguous: 1, allowance: 10 });
});

test("the same reservation asked for twice is one", () => {
  expect(snapshotOf(take(take(known(10), "1"), "1").ledger, T0).reserved).toBe(1);
});

test("figures settle what ran out; an answer that comes even later changes nothing any more", () => {
  const over = lapse(take(known(10), "1"), T0 + TERM);
  const later = T0 + TERM + 120_000;
  const figure = observeLedger(over, quota(9), later, later + 100);
  expect(snapshotOf(figure.ledger, later)).toMatchObject({ spent: 1, ambiguous: 0, remaining: 9 });
  expect(settleLease(figure, "1", "spent", later + 200).ledger).toEqual(figure.ledger);
});

test("a late answer that was charged stays subtracted until a figure shows it", () => {
  const over = lapse(take(known(10), "1"), T0 + TERM);
  const late = settleLease(over, "1", "spent", T0 + TERM + 50);
  expect(snapshotOf(late.ledger, T0 + TERM + 50)).toMatchObject({ spent: 1, ambiguous: 0, remaining: 9 });
  expect(snapshotOf(settleLease(over, "1", "ambiguous", T0 + TERM + 50).ledger, T0)).toMatchObject({ ambiguous: 1 });
});

test("while a request is in flight that nobody can tell the cost of, the reserve of the organization stays untouched", () => {
  const kept = { ...known(3), ledger: { ...known(3).ledger, limits: limits({ reserve: 2 }) } };
  const state = take(kept, "1");
  expect(reserveLease(state, lease("2"), T0)).toMatchObject({ ok: false, code: "BUDGET_SPENT", settling: true });
  expect(reserveLease(lapse(state, T0 + TERM), lease("2"), T0 + TERM)).toMatchObject({ ok: false, settling: false });
});

describe("credits that were bought after the last figure said zero", () => {
  const MINUTE = 60_000;

  test("a fresh zero refuses everybody, an old one lets one request ask anew", () => {
    const empty = known(0);
    const soon = reserveLease(empty, lease("a"), T0 + 9 * MINUTE);
    expect(soon).toMatchObject({ ok: false, code: "QUOTA_SPENT" });
    const later = reserveLease(empty, lease("a"), T0 + 11 * MINUTE);
    expect(later.ok).toBe(true);
    const second = reserveLease(later.state, lease("b"), T0 + 11 * MINUTE);
    expect(second).toMatchObject({ ok: false, settling: true });
  });

  test("what that request finds is believed, more as well as still nothing", () => {
    const asked = take(known(0), "a", T0 + 11 * MINUTE);
    const now = T0 + 11 * MINUTE + 100;
    const bought = observeLedger(settleLease(asked, "a", "spent", now), quota(499), T0 + 11 * MINUTE, now);
    expect(snapshotOf(bought.ledger, now).remaining).toBe(499);
    const none = observeLedger(settleLease(asked, "a", "free", now), quota(0), T0 + 11 * MINUTE, now);
    expect(reserveLease(none, lease("c"), now)).toMatchObject({
      ok: false,
      code: "QUOTA_SPENT",
    });
  });
});

describe("credits that were bought after the last figure left nothing but the reserve", () => {
  const HOUR = 3_600_000;
  const kept = (remaining: number) => {
    const state = known(remaining);
    return { ...state, ledger: { ...state.ledger, limits: limits({ reserve: 50 }) } };
  };

  test("are found by one request a day, which costs a credit of the reserve; a figure of the day is believed", () => {
    const denied = { ok: false, code: "BUDGET_SPENT", settling: false };
    expect(reserveLease(kept(50), lease("a"), T0 + 23 * HOUR, T0 + 22 * HOUR)).toMatchObject(denied);
    const now = T0 + 25 * HOUR;
    const asked = take(kept(50), "a", now);
    expect(reserveLease(asked, lease("b"), now)).toMatchObject({ ok: false, settling: true });
    const answered = (remaining: number) =>
      observeLedger(settleLease(asked, "a", "spent", now + 1), quota(remaining), now, now + 1);
    expect(reserveLease(answered(1_049), lease("b"), now + 2).ok).toBe(true);
    expect(reserveLease(answered(49), lease("b"), now + 2)).toMatchObject(denied);
  });
});

describe("after the clock went back by a day", () => {
  const BEFORE = T0 - 86_400_000;

  test("a reservation of a process that died runs out at once, and a step of seconds ends none", () => {
    const state = take(openSharedLedger(LIMITS), "dead");
    expect(lapse(state, T0 - TERM + 1)).toBe(state);
    expect(reserveLease(state, lease("next"), BEFORE).ok).toBe(true);
  });

  test("a figure of zero holds nobody for longer than a fresh one", () => {
    const now = BEFORE + 60_000;
    expect(reserveLease(known(0), lease("next"), T0 - 60_000, BEFORE)).toMatchObject({ code: "QUOTA_SPENT" });
    expect(reserveLease(known(0), lease("next"), now, BEFORE).ok).toBe(true);
  });
});
