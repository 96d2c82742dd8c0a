// What people read of failures that repeat.
import { expect, test } from "vitest";
import { DuckmirrorError } from "../../../../../src/core/errors.ts";
import { failureText } from "../../../../../src/sync/run/state/list-ends.ts";

const failed = (detail: string) => new DuckmirrorError("REQUEST_FAILED", { endpoint: "e", detail });
const texts = (...details: readonly string[]) => {
  const failures = new Map<string, number>();
  return details.map((detail) => failureText(failures, "filings", failed(detail)));
};

test("another reason is reported anew; other words of the same response are not another reason", () => {
  const found = texts(...Array(7).fill("status 500, a"), "status 500, b", "status 503: c");
  expect(found[7]).toBeNull();
  expect(found[8]).toContain("status 503");
});
