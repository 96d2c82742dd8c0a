// What follows from an attempt, in virtual time.
import { expect, test } from "vitest";
import { type Attempt, GIVE_UP_MS, verdictOf } from "../../../../src/alerts/sending/retry.ts";

const now = Date.UTC(2026, 10, 21);
const answer = (status: number, retryAfter: string | null = null): Attempt => ({ kind: "answer", status, retryAfter });
const at = (attempts: number, ageMs = 0, random = 0) => ({ attempts, madeAt: now - ageMs, now, random });

test.each([200, 201, 204, 299])("%d: sent", (status) => {
  expect(verdictOf(answer(status), at(1))).toEqual({ kind: "sent" });
});

test("410 turns the rule off; other refusals and redirects are dead letters at once", () => {
  expect(verdictOf(answer(410), at(1))).toEqual({ kind: "gone", detail: "it answered 410" });
  for (const status of [400, 401, 404, 413]) expect(verdictOf(answer(status), at(1)).kind).toBe("dead");
  expect(verdictOf(answer(302), at(1))).toEqual({
    kind: "dead",
    detail: "it answered 302; redirects are not followed",
  });
});

test("what is temporary is tried again, later each time, up to eight hours, with jitter", () => {
  const away: Attempt = { kind: "away", detail: "connect ECONNREFUSED" };
  const wait = (attempt: Attempt, attempts: number, random = 0) => {
    const verdict = verdictOf(attempt, at(attempts, 0, random));
    return verdict.kind === "retry" ? (verdict.nextAt - now) / 1000 : verdict.kind;
  };
  const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 50].map((attempts) => wait(away, attempts));
  expect(waits).toEqual([5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 28_800, 28_800]);
  for (const status of [408, 425, 429, 500, 502, 503, 504]) expect(wait(answer(status), 1)).toBe(5);
  expect(wait(away, 1, 0.999)).toBeCloseTo(6, 1);
});

test("Retry-After, in seconds or as a date, makes a wait longer, never shorter, and at most a day", () => {
  const next = (text: string) => {
    const verdict = verdictOf(answer(429, text), at(1));
    return verdict.kind === "retry" ? (verdict.nextAt - now) / 1000 : null;
  };
  expect(next("60")).toBe(60);
  expect(next("0")).toBe(5);
  expect(next("Sat, 21 Nov 2026 00:10:00 GMT")).toBe(600);
  expect(next("99999999")).toBe(86_400);
  expect(next("soon")).toBe(5);
});

test("a message is given up when it is three days old, but not before its third attempt", () => {
  expect(verdictOf(answer(503), at(20, GIVE_UP_MS - 1)).kind).toBe("retry");
  expect(verdictOf(answer(503), at(20, GIVE_UP_MS))).toEqual({ kind: "dead", detail: "it answered 503" });
  expect(verdictOf(answer(503), at(2, GIVE_UP_MS)).kind).toBe("retry");
  expect(verdictOf(answer(200), at(20, GIVE_UP_MS)).kind).toBe("sent");
});
