// A fault with a code still has the report of what the run did; any other fault is thrown.
import { expect, test } from "vitest";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { BrokenRun, orBroken } from "../../../../src/core/report/sync-report.ts";
import { aReport } from "../../../support/reports.ts";

const report = aReport({});

test("a run that a fault ended gives its report and that fault", async () => {
  const fault = new DuckmirrorError("DISK_FULL", { detail: "no space" });
  const { error, report: told } = await orBroken(Promise.reject(new BrokenRun(fault, report)));
  expect(told).toBe(report);
  expect(error).toMatchObject({ code: "DISK_FULL", message: fault.message, cause: fault });
});

test("a run that ended itself gives its result; a fault without a report is thrown on", async () => {
  const result = { report, error: null };
  expect(await orBroken(Promise.resolve(result))).toBe(result);
  const fault = new DuckmirrorError("DISK_FULL", { detail: "" });
  await expect(orBroken(Promise.reject(fault))).rejects.toBe(fault);
});
