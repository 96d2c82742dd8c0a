// Reservations of a process: which are renewed, and what becomes of one whose settlement the store does not receive.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openSharedLedger } from "../../../../src/budget/credits/leases.ts";
import { createOrganizationLedger, LEASE_MS, RENEW_MS } from "../../../../src/budget/credits/organization-ledger.ts";
import { createMemoryState } from "../../../../src/budget/store/state-store.ts";
import { systemClock } from "../../../../src/core/clock.ts";

const LIMITS = { maxCredits: null, reserve: 0, pace: "greedy", runEveryMs: 60_000 } as const;
const ASK = { owner: "fetcher", leaseMs: LEASE_MS };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const aLedger = async () => {
  const memory = createMemoryState(systemClock, openSharedLedger(LIMITS));
  let away = false;
  const update: typeof memory.update = (...step) => (away ? Promise.reject(new Error("away")) : memory.update(...step));
  const ledger = createOrganizationLedger({ clock: systemClock, store: { ...memory, update }, limits: LIMITS });
  await ledger.observe({ limit: 100, used: 0, remaining: 100, resetsAt: null }, Date.now(), false);
  const reserve = async (): Promise<string> => {
    const reservation = await ledger.reserve(ASK);
    return reservation.ok ? reservation.id : reservation.code;
  };
  return { ledger, reserve, setAway: (is: boolean) => (away = is) };
};

test("a settlement that the store did not receive expires, though the same owner renews others", async () => {
  const { ledger, reserve, setAway } = await aLedger();
  const settled = await reserve();
  await reserve();
  setAway(true);
  await expect(ledger.settle(settled, "free")).rejects.toThrow("away");
  setAway(false);
  for (let passed = 0; passed < 2 * LEASE_MS; passed += RENEW_MS) {
    await vi.advanceTimersByTimeAsync(RENEW_MS);
    await ledger.renew(ASK.owner);
  }
  expect(await ledger.snapshot()).toMatchObject({ reserved: 1, ambiguous: 1 });
});
