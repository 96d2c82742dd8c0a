// Which candidate of a plan starts next.
import { expect, test } from "vitest";
import type { Candidate } from "../../../../src/sync/plan/candidate.ts";
import { QUOTA_SCOPE } from "../../../../src/sync/plan/usage-scopes.ts";
import { nextOf } from "../../../../src/sync/run/backlog.ts";
import { aCandidate, aList } from "./a-list.ts";

const [accounts, contacts] = [aCandidate(), aCandidate({ stream: "contacts" })];
const history = aCandidate({ stream: "usage", scope: "requests", mode: "log" });
const quota = aCandidate({ stream: "usage", scope: QUOTA_SCOPE, mode: "capture" });
const forbidden = aCandidate({ stream: "filings", scope: "7", mode: "known", forbidden: true });

const next = (pending: readonly Candidate[], running: readonly Candidate[] = [], failing: readonly string[] = []) =>
  nextOf(pending, {
    work: { open: new Map(running.map((candidate, nth) => [String(nth), aList(candidate)])) },
    fetcher: { isFailing: (stream) => failing.includes(stream) },
  });

test("the first of the plan starts, one of a failing stream only if there is no other", () => {
  expect(next([accounts, contacts])).toBe(accounts);
  expect(next([accounts, contacts], [], ["accounts"])).toBe(contacts);
  expect(next([accounts], [], ["accounts"])).toBe(accounts);
  expect(next([])).toBeUndefined();
});

test("what reports on the run's requests comes after them, the quota after that, a forbidden company last", () => {
  expect(next([forbidden, quota, history, accounts])).toBe(accounts);
  expect(next([forbidden, quota, history])).toBe(history);
  expect(next([forbidden, quota])).toBe(quota);
  expect(next([forbidden])).toBe(forbidden);
});

test("each of them waits until nothing of an earlier turn runs", () => {
  expect(next([history], [accounts])).toBeUndefined();
  expect(next([quota], [history])).toBeUndefined();
  expect(next([forbidden], [quota])).toBeUndefined();
  expect(next([contacts], [accounts])).toBe(contacts);
  expect(next([quota], [forbidden])).toBe(quota);
});

test("a failing stream does not bring a later turn forward", () => {
  expect(next([accounts, history], [], ["accounts"])).toBe(accounts);
});
