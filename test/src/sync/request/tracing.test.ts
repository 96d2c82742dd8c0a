// Spans of a run's requests and waits: what leaves the machine, and what must not.
import { describe, expect, test } from "vitest";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { noTracer } from "../../../../src/core/tracing.ts";
import { tracedSender } from "../../../../src/sync/request/tracing.ts";
import type { OutgoingRequest, SendResult } from "../../../../src/sync/request/turn.ts";
import { recordingTracer } from "../../../support/recorded-spans.ts";
import { simulatedClock } from "../../../support/sync-rig.ts";
import { aSender, broken, outcome, refused } from "./outcomes.ts";

const call = { endpoint: "getContact", path: "/v1/contacts/ann-ash", query: { view: "secret-view" } } as const;
const parcel: OutgoingRequest = {
  requestId: "r1-7",
  runId: "r1",
  call,
  stream: "contacts",
};
const ends = { signal: new AbortController().signal, hardSignal: new AbortController().signal };

/** Sends a request to a service with this answer; the span of it. */
const sent = async (
  sending: SendResult | Error,
  more: Partial<OutgoingRequest> = {},
  baseUrl: string | null = "https://api.example",
) => {
  const { tracer, spans } = recordingTracer();
  const sender = tracedSender(
    aSender({
      send: async () => {
        if (sending instanceof Error) throw sending;
        return sending;
      },
    }),
    { tracer, clock: simulatedClock(0), baseUrl },
  );
  const result = await sender.send({ ...parcel, ...more }, ends).catch((error: unknown) => error);
  const [span] = spans;
  if (span === undefined) throw new TypeError("no span");
  return { span, result };
};

describe("the span of a request", () => {
  test("has method and route, and neither path nor query, which could identify a person", async () => {
    const { span } = await sent(outcome(refused(500, { call })));
    expect(span.name).toBe("GET /v1/contacts/{contactId}");
    expect(span.attributes).toMatchObject({
      "http.request.method": "GET",
      "url.template": "/v1/contacts/{contactId}",
      "duckmirror.stream": "contacts",
      "duckmirror.run.id": "r1",
      "duckmirror.request.id": "r1-7",
    });
    expect(JSON.stringify(span)).not.toMatch(/ann-ash|secret-view/);
    expect(span.ended).toBe(true);
  });

  test.each([
    ["https://api.example/prefix", "api.example", 443],
    ["http://api.example", "api.example", 80],
    ["http://127.0.0.1:8080", "127.0.0.1", 8080],
  ])("names the server of %s", async (baseUrl, address, port) => {
    const { span } = await sent(outcome(refused(500, { call })), {}, baseUrl);
    expect(span.attributes).toMatchObject({ "server.address": address, "server.port": port });
  });

  test("counts resends, of which the first attempt is none", async () => {
    expect((await sent(outcome(refused(500, { call })))).span.attributes["http.request.resend_count"]).toBeNull();
    expect(
      (await sent(outcome(refused(500, { call })), { attempt: 3 })).span.attributes["http.request.resend_count"],
    ).toBe(2);
  });

  test.each<readonly [string, SendResult, string | null, string]>([
    ["a status", outcome(refused(503, { call })), "503", "free"],
    ["a broken connection", outcome(broken("reset", { call })), "reset", "ambiguous"],
    ["a 404, which is an answer", outcome(refused(404, { call })), null, "free"],
    [
      "a denied request",
      { kind: "denied", error: new DuckmirrorError("BUDGET_SPENT", { allowance: 0 }) },
      "BUDGET_SPENT",
      "free",
    ],
    ["the end of the run", { kind: "unsent" }, "INTERRUPTED", "free"],
  ])("says how it ended and what it cost: %s", async (_, sending, failure, charge) => {
    const { span, result } = await sent(sending);
    expect(result).toBe(sending);
    expect(span.failures).toEqual([failure]);
    expect(span.attributes["duckmirror.charge"]).toBe(charge);
  });

  test("ends with a fault, too", async () => {
    const { span, result } = await sent(new TypeError("a bug"));
    expect(result).toBeInstanceOf(TypeError);
    expect(span).toMatchObject({ failures: ["TypeError"], ended: true });
  });
});

test.each([
  ["a short wait for a turn has no span", 4, false, []],
  ["a long one has", 5, false, ["wait"]],
  ["and if the run ends in it", 60_000, true, ["wait"]],
])("%s", async (_, ms, fails, names) => {
  const { tracer, spans } = recordingTracer();
  const clock = simulatedClock(0);
  const turn = async () => {
    await clock.sleep(ms);
    if (fails) throw new DuckmirrorError("INTERRUPTED");
  };
  const sender = tracedSender(aSender({ acquire: turn }), { tracer, clock, baseUrl: null });
  const [end] = await Promise.allSettled([sender.acquire(ends.signal)]);
  expect([end?.status, spans.map(({ name }) => name)]).toEqual([fails ? "rejected" : "fulfilled", names]);
});

test("without tracing, the sender is used as it is", () => {
  const sender = aSender();
  expect(tracedSender(sender, { tracer: noTracer, clock: simulatedClock(0), baseUrl: null })).toBe(sender);
});
