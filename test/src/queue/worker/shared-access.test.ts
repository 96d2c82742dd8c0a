// A credit stays reserved as long as its request lasts, and for 20 seconds after its process died.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openSharedLedger } from "../../../../src/budget/credits/leases.ts";
import { createOrganizationLedger, LEASE_MS } from "../../../../src/budget/credits/organization-ledger.ts";
import { createMemoryState } from "../../../../src/budget/store/state-store.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { organizationCredits } from "../../../../src/queue/worker/shared-access.ts";

const LIMITS = { maxCredits: null, reserve: 0, pace: "greedy", runEveryMs: 60_000 } as const;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Two processes of one organization, before the first figure of its service. */
const twoProcesses = () => {
  const store = createMemoryState(systemClock, openSharedLedger(LIMITS));
  const ledger = () => createOrganizationLedger({ clock: systemClock, store, limits: LIMITS });
  const first = ledger();
  return { first, killed: organizationCredits(first, systemClock), other: organizationCredits(ledger(), systemClock) };
};

test("a request of several minutes keeps its credit reserved", async () => {
  const { first, killed } = twoProcesses();
  expect(await killed.reserve("slow", new AbortController().signal)).toBeNull();
  await vi.advanceTimersByTimeAsync(10 * LEASE_MS);
  expect(await first.snapshot()).toMatchObject({ reserved: 1, ambiguous: 0 });
  await killed.close();
});

test("a settlement that Redis did not receive expires, also while other requests last", async () => {
  const memory = createMemoryState(systemClock, openSharedLedger(LIMITS));
  let away = false;
  const update: typeof memory.update = (...step) => (away ? Promise.reject(new Error("away")) : memory.update(...step));
  const ledger = createOrganizationLedger({ clock: systemClock, store: { ...memory, update }, limits: LIMITS });
  const credits = organizationCredits(ledger, systemClock);
  const { signal } = new AbortController();
  const quota = { limit: 100, used: 0, remaining: 100, resetsAt: null };
  await ledger.reserve("first");
  await ledger.settle("first", "free", { quota, sentAt: Date.now() });
  for (const id of ["settled", "slow"]) expect(await credits.reserve(id, signal)).toBeNull();
  const outcome = { kind: "broken", sentAt: Date.now() } as Parameters<typeof credits.settle>[1];
  away = true;
  await credits.settle("settled", outcome, "free");
  away = false;
  await vi.advanceTimersByTimeAsync(2 * LEASE_MS);
  expect(await ledger.snapshot()).toMatchObject({ reserved: 1, ambiguous: 1 });
  await credits.close();
});

test("the request of a killed process delays those of others for 20 seconds", async () => {
  const { killed, other } = twoProcesses();
  expect(await killed.reserve("lost", new AbortController().signal)).toBeNull();
  // From here on nothing renews it.
  await killed.close();
  let reservedAt = Number.NaN;
  const startedAt = Date.now();
  const waiting = other.reserve("next", new AbortController().signal).then((refused) => {
    expect(refused).toBeNull();
    reservedAt = Date.now() - startedAt;
  });
  await vi.advanceTimersByTimeAsync(2 * LEASE_MS);
  await waiting;
  expect(reservedAt).toBeGreaterThanOrEqual(20_000);
  expect(reservedAt).toBeLessThan(21_000);
  await other.close();
});
