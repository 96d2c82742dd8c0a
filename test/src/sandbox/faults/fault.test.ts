// Faults as they are written in a file.
import { expect, test } from "vitest";
import { FAULT_KINDS, faultSchema, reachesService } from "../../../../src/sandbox/faults/faulty-response.ts";

test("a number is a status, a word a kind with its usual parameters", () => {
  expect(faultSchema.parse(503)).toEqual({ kind: "status", status: 503, body: "json" });
  expect(faultSchema.parse("trickle")).toEqual({ kind: "trickle", every: 20, bytes: 1 });
  expect(faultSchema.parse({ kind: "delay", ms: 5 })).toEqual({ kind: "delay", ms: 5 });
});

test.each([
  [200],
  [600],
  ["status"],
  ["no-such-kind"],
  [{ kind: "delay", ms: 3_600_001 }],
  [{ kind: "html", more: 1 }],
])("%j is no fault", (written) => {
  expect(faultSchema.safeParse(written).success).toBe(false);
});

test("a request whose answer is lost has reached the service, and may have cost a credit", () => {
  const reaching = (written: unknown) => reachesService(faultSchema.parse(written));
  expect(["reset-after", "hang-headers", "empty-body", "duplicate", "gzip-bomb"].every(reaching)).toBe(true);
  expect(["reset-before", "html", 503, "expired-token", "redirect", "not-http"].some(reaching)).toBe(false);
  expect(new Set(FAULT_KINDS).size).toBe(FAULT_KINDS.length);
});
