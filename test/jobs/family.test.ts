// When a family has failed.
import { expect, test } from "vitest";
import { failureOf, problemOf } from "../../jobs/family.ts";
import { DuckmirrorError } from "../../src/core/errors.ts";
import { aReport } from "../support/reports.ts";

test("a family fails by its own streams or by the whole run, not by a spent budget", () => {
  const problem = problemOf(new DuckmirrorError("CREDENTIALS_REFUSED", { status: 401, endpoint: "/v1/me" }));
  expect(failureOf({ report: aReport({ status: "failed", streams: ["accounts"] }, "stopped"), problem })?.code).toBe(
    "CREDENTIALS_REFUSED",
  );
  expect(failureOf({ report: aReport({ status: "partial", streams: ["accounts"] }), problem: null })).toBeNull();
  expect(
    failureOf({ report: aReport({ status: "partial", streams: ["accounts"] }, "failed"), problem: null })?.code,
  ).toBe("STREAMS_FAILED");
  expect(failureOf({ report: aReport({ status: "stopped", streams: ["accounts"] }, "stopped"), problem })).toBeNull();
});
