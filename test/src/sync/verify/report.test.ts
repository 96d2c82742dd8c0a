import { expect, test } from "vitest";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import type { Check } from "../../../../src/sync/verify/checks.ts";
import {
  afterCheck,
  type Difference,
  differencesError,
  distinct,
  earlyEnd,
  type Finding,
  type Findings,
  isDown,
  NO_FINDINGS,
} from "../../../../src/sync/verify/report.ts";

const PAGE: Check = { kind: "page", stream: "filings", scope: "c_1", page: 3 };
const aFinding = (status: Finding["status"], note: string | null = null): Finding => ({
  status,
  records: 10,
  differences: [],
  note,
});
const aDifference = (more: Partial<Difference> = {}): Difference => ({
  stream: "contacts",
  scope: "",
  kind: "field",
  key: "7",
  field: "email",
  mirror: "a",
  api: "b",
  verdict: "wrong",
  repaired: false,
  ...more,
});
const after = (...statuses: Finding["status"][]): Findings =>
  statuses.reduce(
    (findings, status, nth) => afterCheck(findings, PAGE, aFinding(status, `note ${nth}`), 1),
    NO_FINDINGS,
  );

test("each check is reported with its company or its record, and its credits", () => {
  const checks: readonly Check[] = [PAGE, { kind: "detail", stream: "signals", id: "9" }];
  const { reports } = checks.reduce(
    (findings, check, nth) => afterCheck(findings, check, aFinding("equal"), nth),
    NO_FINDINGS,
  );
  expect(reports.map(({ check, scope, credits }) => [check, scope, credits])).toEqual([
    ["page", "c_1", 0],
    ["detail", "9", 1],
  ]);
});

test("a check that the end of the run stopped is not reported", () => {
  expect(after("stopped")).toBe(NO_FINDINGS);
});

test("the service is down after three failed checks in a row; any other outcome begins the count anew", () => {
  expect(isDown(after("failed", "failed"))).toBe(false);
  expect(isDown(after("failed", "failed", "failed"))).toBe(true);
  expect(isDown(after("failed", "failed", "skipped", "failed"))).toBe(false);
});

test("a difference that several checks found counts once, and as repaired if one of them repaired it", () => {
  const other = aDifference({ field: "phone" });
  const found = [aDifference({ repaired: true }), other, aDifference({ api: "c" })];
  expect(distinct(found)).toEqual([aDifference({ api: "c", repaired: true }), other]);
  // Of a count, key and field are null, which differs from the texts.
  const counts = [aDifference({ kind: "count", key: null, field: null }), aDifference({ kind: "count", key: "null" })];
  expect(distinct(counts)).toHaveLength(2);
  // What one check proves wrong is wrong, whichever came first.
  const newer = aDifference({ verdict: "newer" });
  expect(distinct([newer, aDifference()])).toEqual([aDifference()]);
  expect(distinct([aDifference(), newer])).toEqual([aDifference()]);
});

test("the error counts the differences, and how many of them are repaired", () => {
  expect(differencesError([])).toBeNull();
  expect(differencesError([aDifference()])?.message).not.toMatch(/repaired/);
  const error = differencesError([aDifference(), aDifference({ key: "8", repaired: true })]);
  expect(error?.code).toBe("VERIFY_DIFFERS");
  expect(error?.message).toMatch(/2 .*, 1 of them repaired/);
  expect(differencesError([aDifference({ verdict: "newer" })])).toBeNull();
});

test("a verification that compared something may run out of credits, but not of its credentials", () => {
  const budget = { kind: "stopped", error: new DuckmirrorError("BUDGET_SPENT", { budget: 1 }) } as const;
  expect(earlyEnd(budget, after("equal", "failed"))).toBeNull();
  expect(earlyEnd(budget, after("differs"))).toBeNull();
  expect(earlyEnd(budget, after("skipped"))).toBe(budget.error);
  const refused = { kind: "stopped", error: new DuckmirrorError("CREDENTIALS_REFUSED", { status: 401 }) } as const;
  expect(earlyEnd(refused, after("equal"))).toBe(refused.error);
  expect(earlyEnd({ kind: "interrupted" }, after("equal"))?.code).toBe("INTERRUPTED");
});

test("if every check failed, the first failure is the error; one comparison is enough to prove something", () => {
  expect(earlyEnd(null, after("skipped"))).toBeNull();
  expect(earlyEnd(null, after("failed", "failed"))?.message).toMatch(/note 0/);
  expect(earlyEnd(null, after("failed", "equal"))).toBeNull();
});
