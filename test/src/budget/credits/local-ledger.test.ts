// The ledger of one process: reservations by id, and errors that name the figures.
import { expect, test } from "vitest";
import { createManualClock } from "../../../../bench/rates/manual-clock.ts";
import { createLedger } from "../../../../src/budget/credits/local-ledger.ts";

const idOf = (result: ReturnType<ReturnType<typeof createLedger>["tryReserve"]>): string => {
  if (!result.ok) throw new Error(result.code);
  return result.id;
};

test("a reservation is settled once, whatever is said about it later", () => {
  const ledger = createLedger({ clock: createManualClock(), maxCredits: 10 });
  const id = idOf(ledger.tryReserve());
  expect(ledger.snapshot()).toMatchObject({ reserved: 1, spent: 0, allowance: 10 });
  ledger.settle(id, "spent");
  ledger.settle(id, "spent");
  ledger.settle("never made", "ambiguous");
  expect(ledger.snapshot()).toMatchObject({ reserved: 0, spent: 1, ambiguous: 0 });
});

test("nothing limits a run that was given no limit until the service says what is left", () => {
  const clock = createManualClock();
  const ledger = createLedger({ clock });
  expect(ledger.snapshot().allowance).toBeNull();
  const id = idOf(ledger.tryReserve());
  ledger.settle(id, "spent");
  ledger.observe({ limit: 100, used: 100, remaining: 0, resetsAt: Date.UTC(2026, 1, 1) }, clock.now());
  expect(ledger.tryReserve()).toEqual({ ok: false, code: "QUOTA_SPENT", settling: false });
});

test("the error that ends a run names the allowance or the reset", () => {
  const clock = createManualClock();
  const ledger = createLedger({ clock, maxCredits: 0 });
  expect(ledger.denial("BUDGET_SPENT")).toMatchObject({
    code: "BUDGET_SPENT",
    message: expect.stringContaining("0 credits"),
  });
  ledger.observe({ limit: 100, used: 100, remaining: 0, resetsAt: Date.UTC(2026, 1, 1) }, clock.now());
  expect(ledger.denial("QUOTA_SPENT").message).toContain("until 2026-02-01T00:00:00.000Z");
});
