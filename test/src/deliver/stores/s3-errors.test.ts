// Errors of S3 as errors of this program.
import { expect, test } from "vitest";
import { isCode } from "../../../../src/core/errors.ts";
import { failureOf, isLost, storeError } from "../../../../src/deliver/stores/s3-store.ts";

const refused = (name: string, status: number | null, message = "no") =>
  Object.assign(new Error(message), { name, ...(status === null ? {} : { $metadata: { httpStatusCode: status } }) });

test.each([
  ["NoSuchBucket", 404, "DESTINATION_FAILED"],
  ["AccessDenied", 403, "DESTINATION_REFUSED"],
  ["InvalidAccessKeyId", 403, "DESTINATION_REFUSED"],
  ["CredentialsProviderError", null, "DESTINATION_REFUSED"],
  ["PermanentRedirect", 301, "CONFIG_INVALID"],
  ["AuthorizationHeaderMalformed", 400, "CONFIG_INVALID"],
  ["EntityTooLarge", 400, "DESTINATION_FAILED"],
  ["SlowDown", 503, "DESTINATION_AWAY"],
  ["TimeoutError", null, "DESTINATION_AWAY"],
] as const)("%s is %s %s", (name, status, code) => {
  const error = storeError(refused(name, status), "lake");
  expect(isCode(error, code)).toBe(true);
  expect(error).toMatchObject({ message: expect.stringContaining("lake") });
});

test("a missing region is a setting to make; an error of this program stays as it is", () => {
  expect(storeError(new Error("Region is missing"), "lake")).toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining("set `region`"),
  });
  const own = storeError(refused("SlowDown", 503), "lake");
  expect(storeError(own, "other")).toBe(own);
});

test("a condition that did not hold is no failure", () => {
  for (const name of ["PreconditionFailed", "ConditionalRequestConflict"]) {
    const failure = failureOf(refused(name, 412));
    expect(failure !== null && isLost(failure)).toBe(true);
  }
  const other = failureOf(refused("SlowDown", 503));
  expect(other !== null && isLost(other)).toBe(false);
});
