// One request until it has a final response: what is repeated, what ends the run, and what each attempt leaves behind.
import { expect, test } from "vitest";
import type { ApiCall, ApiOutcome } from "../../../../src/api/outcome.ts";
import { createLedger } from "../../../../src/budget/credits/local-ledger.ts";
import type { DuckmirrorError } from "../../../../src/core/errors.ts";
import { createFetcher } from "../../../../src/sync/request/fetcher.ts";
import type { Sending } from "../../../../src/sync/request/sender.ts";
import { createMemoryArchive } from "../../../support/memory-archive.ts";
import { aSender, LIST, ok, outcome, refused } from "./outcomes.ts";

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
  const answer = (): Sending => {
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
    (
      (n) => () =>
        `q${++n}`
    )(0),
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
  expect(result).toMatchObject({ kind: "answer", requestId: "q1", receivedAt: 7 });
  expect(requests).toMatchObject([{ requestId: "q1", status: 200, charge: "spent", attempt: 1, error: null }]);
  expect(archive.holds("q1")).toBe(true);
  expect([log, codes()]).toEqual([["leaves", "observed"], []]);
});

test("a failure of the service is tried again, as the same request and with an id of its own", async () => {
  const { fetch, log, decided } = fetcherOf([refused(503), refused(503), ok]);
  const { result, requests } = await fetch();
  expect(result.kind).toBe("answer");
  expect(requests.map(({ requestId, attempt, charge }) => [requestId, attempt, charge])).toEqual([
    ["q1", 1, "free"],
    ["q2", 2, "free"],
    ["q3", 3, "spent"],
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
  expect(adjusted.archive.holds("q1")).toBe(false);
  const absent = await fetcherOf([refused(404, { call: record })]).fetch(record);
  expect(absent.result).toMatchObject({ kind: "absent", requestId: "q1" });
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
