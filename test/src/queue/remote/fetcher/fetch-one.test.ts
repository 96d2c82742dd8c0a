// One request of a fetcher that Redis fails: what becomes of the credit that was set aside for it.
import { expect, test } from "vitest";
import { openSharedLedger } from "../../../../../src/budget/credits/leases.ts";
import { createOrganizationLedger } from "../../../../../src/budget/credits/organization-ledger.ts";
import { createMemoryState } from "../../../../../src/budget/store/in-memory.ts";
import { systemClock } from "../../../../../src/core/clock.ts";
import { DuckmirrorError } from "../../../../../src/core/errors.ts";
import { noTracer } from "../../../../../src/core/tracing.ts";
import { type FetchOneDeps, fetchOne } from "../../../../../src/queue/remote/fetcher/fetch-one.ts";
import type { FetchPayload } from "../../../../../src/queue/remote/messages.ts";

const LIMITS = { maxCredits: null, reserve: 0, pace: "greedy", runEveryMs: 60_000 } as const;
const away = () => Promise.reject(new DuckmirrorError("REDIS_UNAVAILABLE", { detail: "away" }));

test("a request whose departure Redis does not record is not sent, and its credit is free again", async () => {
  const store = createMemoryState(systemClock, openSharedLedger(LIMITS));
  const ledger = createOrganizationLedger({ clock: systemClock, store, limits: LIMITS });
  const signal = new AbortController().signal;
  const deps = {
    organization: { key: "o", ledger },
    mailbox: { depart: away },
    clock: systemClock,
    storeClock: { now: Date.now, correct: () => undefined },
    owner: "fetcher",
    lock: { key: "lock", token: "mine" },
    signal,
    hardSignal: signal,
    tracer: noTracer,
  } as unknown as FetchOneDeps;
  const payload = { mirror: "m", epoch: "e", slotAt: 0, request: { requestId: "r" } } as FetchPayload;
  await expect(fetchOne(payload, deps)).rejects.toMatchObject({ code: "REDIS_UNAVAILABLE" });
  expect(await ledger.snapshot()).toMatchObject({ spent: 0, reserved: 0, ambiguous: 0 });
});
