// The last line of a sync in the log.
import { expect, test } from "vitest";
import { endLine } from "../../../../src/core/report/sync-end.ts";
import { aReport } from "../../../support/reports.ts";

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
