// Failed calls of object storage, whatever the service.
import { expect, test } from "vitest";
import { detailed, failureError, messageOf } from "../../../../src/deliver/stores/object-store.ts";

const codeOf = (name: string, status: number | null) =>
  failureError({ name, status, detail: "d" }, /^Expired/, "lake", null).code;

test.each([
  ["ExpiredToken", null, "DESTINATION_REFUSED"],
  ["ExpiredToken", 400, "DESTINATION_REFUSED"],
  ["Other", 401, "DESTINATION_REFUSED"],
  ["Other", 403, "DESTINATION_REFUSED"],
  ["Other", 400, "DESTINATION_FAILED"],
  ["Other", 499, "DESTINATION_FAILED"],
  ["Other", 408, "DESTINATION_AWAY"],
  ["Other", 429, "DESTINATION_AWAY"],
  ["Other", 500, "DESTINATION_AWAY"],
  ["Other", null, "DESTINATION_AWAY"],
] as const)("%s with status %s is %s: only what passes by itself is tried again", (name, status, code) => {
  expect(codeOf(name, status)).toBe(code);
});

test("a socket's error without a text is called by its code, else by its name", () => {
  expect(messageOf(Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }))).toBe("ECONNREFUSED");
  expect(messageOf(new AggregateError([]))).toBe("AggregateError");
  expect(messageOf(Object.assign(new Error("refused"), { code: "X" }))).toBe("refused");
});

test("a failure is named once, with its status where there was a response", () => {
  expect(detailed("SlowDown", 503, "Please wait")).toBe("SlowDown: Please wait (HTTP 503)");
  expect(detailed("SlowDown", null, "SlowDown, please")).toBe("SlowDown, please");
  expect(detailed("Error", null, "x")).toBe("x");
});
