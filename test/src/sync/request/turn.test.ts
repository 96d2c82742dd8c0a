// One attempt at one request (I4): its credit is reserved before anything is waited for, and settled whatever happens. Then attempts
// until there is a final response: what is repeated, what ends the run, and what each attempt leaves behind.
import { describe, expect, test } from "vitest";
import type { ApiCall, ApiOutcome } from "../../../../src/api/outcome.ts";
import { createLedger } from "../../../../src/budget/credits/local-ledger.ts";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { createFetcher } from "../../../../src/sync/request/fetcher.ts";
import type { Sender, SendResult } from "../../../../src/sync/request/turn.ts";
import { makeAttempt } from "../../../../src/sync/request/turn.ts";
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
  return { run: () => makeAttempt(deps, taken), end, ledger, log, intents: () => archive.intents("r") };
};

test("reserve, wait for the rate, note, send, settle: in this order", async () => {
  const { run, log, ledger, intents } = attempt({}, { backOffMs: 9 });
  expect(await run()).toMatchObject({ kind: "outcome", outcome: withQuota, order });
  expect(log).toEqual(["waits", "sleep 9", "turn, 1 reserved", "send, 1 reserved", "quota", "waits no more"]);
  expect(await intents()).toMatchObject([{ requestId: "q1", url: "/v1/signals", sentAt: 7 }]);
  expect(ledger.snapshot()).toMatchObject({ spent: 1, reserved: 0 });
});

describe("the credit", () => {
  test.each<[string, () => Promise<SendResult>, number]>([
    ["of a refusal comes back", async () => outcome(refused(503)), 0],
    ["of a request that was not sent comes back", async () => ({ kind: "unsent" }), 0],
    ["of a request during which duckmirror fails may be spent", () => Promise.reject(new Error("fault")), 1],
  ])("%s", async (_, sending, ambiguous) => {
    const { run, ledger } = attempt({ send: sending });
    await run().catch(() => undefined);
    expect(ledger.snapshot()).toMatchObject({ spent: 0, reserved: 0, ambiguous });
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

const record = { endpoint: "getCompany", path: "/v1/companies/c_1", query: {} } as const;
const invalid: ApiOutcome = { ...ok, kind: "invalid", detail: "no JSON" };

/** A fetcher whose service gives these outcomes, the last one again and again; notes what happens. */
const fetcherOf = (
  outcomes: readonly ApiOutcome[],
  {
    maxCredits = 9,
    answers = Infinity,
    addressKnown = true,
  }: { maxCredits?: number; answers?: number; addressKnown?: boolean } = {},
) => {
  const log: string[] = [];
  const clock = { now: () => 7, sleep: async () => undefined };
  const archive = createMemoryArchive(() => undefined);
  const left = [...outcomes];
  let answered = 0;
  const answer = (): SendResult => {
    const next = left.length > 1 ? left.shift() : left[0];
    if (next === undefined) throw new Error("nothing to answer");
    return outcome(next);
  };
  const sender = aSender({
    send: async () => (++answered > answers ? { kind: "unsent" } : answer()),
    observe: () => void log.push("observed"),
  });
  const stops: DuckmirrorError[] = [];
  const { signal } = new AbortController();
  const fetcher = createFetcher(
    {
      sender,
      archive: archive.open({ runId: "r", now: 0 }),
      ledger: createLedger({ clock, maxCredits }),
      clock,
      emit: (event) => void log.push(event.kind === "waiting" ? `waits: ${event.why}` : event.kind),
      onQuota: () => undefined,
      signal,
      hardSignal: signal,
      random: () => 0,
      stop: (error) => void stops.push(error),
      addressKnown,
    },
    "q",
  );
  let decided = 0;
  const fetch = (call: ApiCall = LIST) =>
    fetcher.fetch({
      order: () => {
        decided += 1;
        return { runId: "r", stream: "signals", scope: "", walkId: null, call, work: "walk", detail: null };
      },
      onLeaving: () => void log.push("leaves"),
    });
  return { fetch, fetcher, log, archive, codes: () => stops.map(({ code }) => code), decided: () => decided };
};

test("an answer is archived, with one row in the ledger", async () => {
  const { fetch, log, archive, codes } = fetcherOf([ok]);
  const { result, requests } = await fetch();
  expect(result).toMatchObject({ kind: "answer", requestId: "q-1", receivedAt: 7 });
  expect(requests).toMatchObject([{ requestId: "q-1", status: 200, charge: "spent", attempt: 1, error: null }]);
  expect(archive.holds("q-1")).toBe(true);
  expect([log, codes()]).toEqual([["leaves", "observed"], []]);
});

test("failures in a row end with an answer, though the stream was answered before them", async () => {
  const failures = Array.from({ length: 18 }, () => refused(503));
  const { fetch, fetcher } = fetcherOf([ok, ok, ...failures, ok]);
  const seen: boolean[] = [];
  for (let number = 0; number < 6; number += 1) {
    await fetch();
    seen.push(fetcher.isFailing("signals"));
  }
  expect(seen).toEqual([false, false, false, false, true, false]);
});

test("a failure of the service is tried again, as the same request and with an id of its own", async () => {
  const { fetch, log, decided } = fetcherOf([refused(503), refused(503), ok]);
  const { result, requests } = await fetch();
  expect(result.kind).toBe("answer");
  expect(requests.map(({ requestId, attempt, charge }) => [requestId, attempt, charge])).toEqual([
    ["q-1", 1, "free"],
    ["q-2", 2, "free"],
    ["q-3", 3, "spent"],
  ]);
  expect([decided(), log.filter((what) => what === "leaves"), log.filter((what) => what === "waits: retry")]).toEqual([
    1,
    ["leaves"],
    ["waits: retry", "waits: retry"],
  ]);
});

test("a paid body that is no envelope is archived each time, and asked for a few times only", async () => {
  const { fetch, archive, codes } = fetcherOf([invalid]);
  const { result, requests } = await fetch();
  expect(result).toMatchObject({ kind: "failed", error: { code: "RESPONSE_INVALID" }, notFound: false });
  expect(requests).toHaveLength(3);
  expect(requests.every(({ requestId, charge }) => charge === "spent" && archive.holds(requestId))).toBe(true);
  expect(codes()).toEqual([]);
});

test("refused parameters are for the caller, a missing record is certain; neither is archived or repeated", async () => {
  const adjusted = fetcherOf([refused(400)]);
  expect((await adjusted.fetch()).result.kind).toBe("adjust");
  expect(adjusted.archive.holds("q-1")).toBe(false);
  const absent = await fetcherOf([refused(404, { call: record })]).fetch(record);
  expect(absent.result).toMatchObject({ kind: "absent", requestId: "q-1" });
  expect(absent.requests).toHaveLength(1);
});

test("a 404 has its row if the run ends before the service's address is sure", async () => {
  const absent = refused(404, { call: record });
  const { fetch } = fetcherOf([absent], { addressKnown: false, answers: 1 });
  const { result, requests } = await fetch(record);
  expect(result).toEqual({ kind: "ended" });
  expect(requests.map(({ status, charge }) => [status, charge])).toEqual([[404, "free"]]);
});

test("without a credit nothing is sent; between two attempts it ends the run, since nothing else could use one better", async () => {
  const none = fetcherOf([ok], { maxCredits: 0 });
  expect((await none.fetch()).result).toMatchObject({ kind: "no-credit", error: { code: "BUDGET_SPENT" } });
  expect(none.codes()).toEqual([]);
  const one = fetcherOf([invalid], { maxCredits: 1 });
  expect((await one.fetch()).result).toEqual({ kind: "ended" });
  expect(one.codes()).toEqual(["BUDGET_SPENT"]);
});
