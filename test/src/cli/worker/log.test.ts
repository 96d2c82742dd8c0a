// Faults of requests in a worker's log.
import { expect, test } from "vitest";
import { faultLog } from "../../../../src/cli/worker/log.ts";
import { DuckmirrorError } from "../../../../src/core/errors.ts";

test("a known failure of a request is one line with code and hint, without a stack", () => {
  const lines: unknown[][] = [];
  const log = faultLog({
    warn: (...args: unknown[]) => void lines.push(["warn", ...args]),
    error: (...args: unknown[]) => void lines.push(["error", ...args]),
  });
  log(new DuckmirrorError("DISK_FULL", { detail: "no space" }));
  log(new DuckmirrorError("REQUEST_FAILED", { endpoint: "e", detail: "d" }));
  expect(lines).toEqual([
    ["error", expect.stringMatching(/^a request failed: DISK_FULL: .* Free some space/)],
    ["warn", expect.stringMatching(/^a request failed: REQUEST_FAILED: /)],
  ]);
});
