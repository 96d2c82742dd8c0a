// The state of a run, computed from its events.
import { expect, test } from "vitest";
import {
  afterEvent,
  noProgress,
  outcomeText,
  requestsPerMinute,
  type StreamProgress,
  timeLeftMs,
} from "../../../../src/cli/terminal/progress.ts";
import type { ProgressEvent } from "../../../../src/core/report/sync-progress.ts";
import { aPage, finished } from "./run-events.ts";

const page = (requests: number, more: Parameters<typeof aPage>[0] = {}): ProgressEvent =>
  aPage({ requests, pagesDone: requests, pagesTotal: 10, ...more });
const ended = { ...finished, inserted: 0, updated: 0 };
type Arrival = readonly [now: number, event: ProgressEvent];
const after = (...events: readonly Arrival[]) =>
  events.reduce((run, [now, event]) => afterEvent(run, event, now), noProgress);
const accounts = (...events: readonly Arrival[]): StreamProgress => {
  const stream = after(...events).streams.get("accounts");
  if (stream === undefined) throw new Error("no accounts");
  return stream;
};

test("the rate is measured from the first page on, so that the wait before it does not count", () => {
  const stream = accounts([60_000, page(3)], [90_000, page(5)]);
  expect(requestsPerMinute(stream)).toBe(4);
  expect(timeLeftMs(stream)).toBe(75_000);
});

test("one page, pages of one moment, and a list that is longer than expected show no time left", () => {
  expect(requestsPerMinute(accounts([0, page(1)]))).toBeNull();
  expect(timeLeftMs(accounts([0, page(1)], [0, page(2)]))).toBeNull();
  expect(timeLeftMs(accounts([0, page(1)], [1000, page(10)]))).toBeNull();
  expect(timeLeftMs(accounts([0, page(1, { pagesTotal: null })], [1000, page(2, { pagesTotal: null })]))).toBeNull();
});

test("what was planned counts while the list does not say how long it is", () => {
  const planned: ProgressEvent = { kind: "stream-planned", stream: "accounts", requests: 3, because: "" };
  const unknown = { pagesTotal: null };
  expect(timeLeftMs(accounts([0, planned], [0, page(1, unknown)], [1000, page(2, unknown)]))).toBe(1000);
});

test("a stream's wait ends with its next page or its end, the run's when it is over", () => {
  const wait = (stream: string | null): ProgressEvent => ({ kind: "waiting", why: "rate", until: 5000, stream });
  expect(accounts([0, wait("accounts")], [1, page(1)]).waiting).toBeNull();
  expect(accounts([0, wait("accounts")], [1, ended]).waiting).toBeNull();
  expect(after([0, wait(null)], [4999, page(1)]).waiting).not.toBeNull();
  expect(after([0, wait(null)], [5000, page(1)]).waiting).toBeNull();
  expect(after([0, wait(null)], [1, { kind: "resumed" }]).waiting).toBeNull();
});

test("only a wait for the next period goes on after a stream's end", () => {
  const wait = (why: "rate" | "quota"): ProgressEvent => ({ kind: "waiting", why, until: 5000, stream: null });
  expect(after([0, wait("rate")], [1, ended]).waiting).toBeNull();
  expect(after([0, wait("quota")], [1, ended]).waiting).toMatchObject({ why: "quota" });
});

test.each<[Partial<typeof ended>, string]>([
  [{}, "nothing changed"],
  [{ inserted: 1200, rejected: 1 }, "+1,200 new, 1 rejected"],
  [{ updated: 2, deleted: 3 }, "2 changed, 3 deleted"],
  [{ status: "skipped", inserted: 5 }, "nothing was requested"],
  [{ status: "failed", error: "GET failed" }, "GET failed"],
])("a stream that ended with %j says: %s", (more, text) => {
  expect(outcomeText({ ...ended, ...more })).toBe(text);
});
