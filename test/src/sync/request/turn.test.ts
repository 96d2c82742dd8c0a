// One attempt at one request (I4): its credit is reserved before anything is waited for, and settled whatever happens.
import { describe, expect, test } from "vitest";
import type { ApiOutcome } from "../../../../src/api/outcome.ts";
import { createLedger } from "../../../../src/budget/credits/local-ledger.ts";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import type { Sender, Sending } from "../../../../src/sync/request/sender.ts";
import { takeTurn } from "../../../../src/sync/request/turn.ts";
import { createMemoryArchive } from "../../../support/memory-archive.ts";
import { aSender, LIST, ok, outcome, refused } from "./outcomes.ts";

const order = {
  runId: "r",
  stream: "signals",
  scope: "",
  walkId: null,
  call: LIST,
  work: "walk",
  detail: null,
} as const;
const withQuota: ApiOutcome = { ...ok, usage: { limit: 100, used: 1, remaining: 99, resetsAt: null } };

/** An attempt with these parts; notes what happens, in its order, and the ledger at each moment. */
const attempt = (
  parts: Partial<Sender> = {},
  { maxCredits = 3, backOffMs = 0, path = LIST.path }: { maxCredits?: number; backOffMs?: number; path?: string } = {},
) => {
  const end = new AbortController();
  const clock = { now: () => 7, sleep: async (ms: number) => void log.push(`sleep ${ms}`) };
  const ledger = createLedger({ clock, maxCredits });
  const log: string[] = [];
  const at = (what: string) => log.push(`${what}, ${ledger.snapshot().reserved} reserved`);
  const archive = createMemoryArchive(() => undefined);
  const sender = aSender({
    acquire: async () => void at("turn"),
    send: async () => {
      at("send");
      return outcome(withQuota);
    },
    ...parts,
  });
  const deps = {
    sender,
    ledger,
    clock,
    archive: archive.open({ runId: "r", now: 0 }),
    emit: ({ kind }: { readonly kind: string }) => void log.push(kind),
    onQuota: () => void log.push("quota"),
    signal: end.signal,
    hardSignal: new AbortController().signal,
    onWait: () => {
      log.push("waits");
      return () => void log.push("waits no more");
    },
  };
  const taken = { requestId: "q1", number: 1, backOffMs, order: () => ({ ...order, call: { ...LIST, path } }) };
  return { run: () => takeTurn(deps, taken), end, ledger, log, intents: () => archive.intents("r") };
};

test("reserve, wait for the rate, note, send, settle: in this order", async () => {
  const { run, log, ledger, intents } = attempt({}, { backOffMs: 9 });
  expect(await run()).toMatchObject({ kind: "outcome", outcome: withQuota, order });
  expect(log).toEqual(["waits", "sleep 9", "turn, 1 reserved", "send, 1 reserved", "quota", "waits no more"]);
  expect(await intents()).toMatchObject([{ requestId: "q1", url: "/v1/signals", sentAt: 7 }]);
  expect(ledger.snapshot()).toMatchObject({ spent: 1, reserved: 0 });
});

describe("the credit", () => {
  const charged = async (sending: () => Promise<Sending>) => {
    const { run, ledger } = attempt({ send: sending });
    await run().catch(() => undefined);
    const { spent, reserved, ambiguous } = ledger.snapshot();
    return { spent, reserved, ambiguous };
  };

  test("of a refusal comes back", async () => {
    expect(await charged(async () => outcome(refused(503)))).toEqual({ spent: 0, reserved: 0, ambiguous: 0 });
  });

  test("of a request that was not sent comes back", async () => {
    expect(await charged(async () => ({ kind: "unsent" }))).toEqual({ spent: 0, reserved: 0, ambiguous: 0 });
  });

  test("of a request during which duckmirror fails may be spent", async () => {
    expect(await charged(() => Promise.reject(new Error("fault")))).toEqual({ spent: 0, reserved: 0, ambiguous: 1 });
  });
});

test("without a credit nothing is waited for, noted or sent", async () => {
  const { run, log, intents } = attempt({}, { maxCredits: 0 });
  expect(await run()).toMatchObject({ kind: "no-credit", error: { code: "BUDGET_SPENT" } });
  expect(log).toEqual([]);
  expect(await intents()).toEqual([]);
});

test("a credit that a request in flight may give back is waited for", async () => {
  const { run, ledger } = attempt({}, { maxCredits: 1 });
  const other = ledger.tryReserve();
  if (!other.ok) throw new Error("no credit");
  const turn = run();
  ledger.settle(other.id, "free");
  expect(await turn).toMatchObject({ kind: "outcome" });
});

test("a run that ends while it waits for the rate sends nothing, and the credit comes back", async () => {
  const { run, end, ledger, intents } = attempt({
    acquire: async () => {
      end.abort(new DuckmirrorError("INTERRUPTED"));
    },
  });
  expect(await run()).toEqual({ kind: "ended" });
  expect(await intents()).toEqual([]);
  expect(ledger.snapshot()).toMatchObject({ spent: 0, reserved: 0 });
});

test("limits that cannot be asked for deny the request with their error", async () => {
  const error = new DuckmirrorError("REDIS_UNAVAILABLE", { address: "a", detail: "d" });
  const { run, ledger } = attempt({ acquire: () => Promise.reject(error) });
  expect(await run()).toEqual({ kind: "denied", error });
  expect(ledger.snapshot().reserved).toBe(0);
});

test("an id that would lead to another route is not sent", async () => {
  const { run, intents } = attempt({}, { path: "/v1/companies/../signals" });
  expect(await run()).toMatchObject({ kind: "unaddressable" });
  expect(await intents()).toEqual([]);
});

test("a long wait for the rate is reported once, before the first attempt", async () => {
  const waiting = async (...moments: readonly number[]) => {
    const { run, log } = attempt({
      acquire: async (_, onWait) => {
        for (const at of moments) onWait?.(at);
      },
    });
    await run();
    return log.filter((what) => what === "waiting").length;
  };
  expect([await waiting(7 + 2000), await waiting(7 + 2001, 7 + 3001)]).toEqual([0, 1]);
});
