// Which failures need a person, and which the next sync mends by itself.
import { expect, test } from "vitest";
import { DuckmirrorError, ERRORS, type ErrorCode, EXIT } from "../../../../src/core/errors.ts";
import { endLine, isTakenAway, levelOf, levelOfCode } from "../../../../src/core/report/problem.ts";
import { aReport } from "../../../support/reports.ts";

// The last line of a sync in the log.

const report = aReport({ run_id: "r", requests: 1 });
const problem = (code: string) => ({ code, message: "It is.", hint: "Do this." });

test("says what it cost; with work left also why, and what to do", () => {
  expect(endLine("acme", { report, problem: null })).toEqual({
    level: "info",
    text: "sync r of acme: done, 1 request, 0 credits spent",
  });
  expect(endLine("acme", { report, problem: problem("QUOTA_SPENT") })).toEqual({
    level: "warn",
    text: "sync r of acme: done, 1 request, 0 credits spent. QUOTA_SPENT: It is. Do this.",
  });
});

test("is an error where a person must act, and no more than information where one cancelled it", () => {
  expect(endLine("acme", { report, problem: problem("CREDENTIALS_REFUSED") }).level).toBe("error");
  expect(endLine("acme", { report, problem: problem("INTERRUPTED") }).level).toBe("info");
  expect(endLine("acme", { report, problem: { ...problem("DISK_FULL"), hint: "" } }).text).toMatch(/It is\.$/);
});

const levelsOf = (exit: number, but: readonly ErrorCode[] = []) =>
  Object.entries(ERRORS)
    .filter(([code, row]) => row.exit === exit && !but.some((other) => other === code))
    .map(([code]) => [code, levelOfCode(code)]);

test("whatever ends a sync because credits or time are spent is a warning", () => {
  // WAIT_SPENT ends the wait of a command, not a sync.
  for (const [code, level] of levelsOf(EXIT.budget, ["WAIT_SPENT"])) expect([code, level]).toEqual([code, "warn"]);
});

test("what a person must set right is an error", () => {
  for (const exit of [EXIT.usage, EXIT.credentials, EXIT.unexpected])
    for (const [code, level] of levelsOf(exit)) expect([code, level]).toEqual([code, "error"]);
});

test("what the next sync mends, and a job that another worker has by now, is a warning; what has no code an error", () => {
  for (const code of ["REQUEST_FAILED", "REDIS_UNAVAILABLE", "STREAMS_FAILED"] as const)
    expect([code, levelOfCode(code)]).toEqual([code, "warn"]);
  expect([levelOfCode("MASS_DELETE_REFUSED"), levelOfCode("")]).toEqual(["error", "error"]);
  const gone = Object.assign(new Error("Missing lock"), { code: -2 });
  expect([isTakenAway(gone), levelOf(gone)]).toEqual([true, "warn"]);
  const other = Object.assign(new Error("x"), { code: -3 });
  expect([isTakenAway(other), levelOf(other), levelOf("x")]).toEqual([false, "error", "error"]);
  expect(levelOf(new DuckmirrorError("WRITER_BUSY", { dir: "d" }))).toBe("warn");
});
