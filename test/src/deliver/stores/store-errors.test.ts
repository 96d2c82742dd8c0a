// Failed calls of object storage as errors of this program, whatever the service.
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { isCode } from "../../../../src/core/errors.ts";
import * as azure from "../../../../src/deliver/stores/azure-client.ts";
import { detailed, failureError, messageOf } from "../../../../src/deliver/stores/object-store.ts";
import * as s3 from "../../../../src/deliver/stores/s3-store.ts";

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

/** Errors as the services' own libraries throw them. */
const refusals = {
  S3: (name: string, status: number | null, message = "no") =>
    Object.assign(new Error(message), { name, ...(status === null ? {} : { $metadata: { httpStatusCode: status } }) }),
  Azure: (code: string, statusCode: number | null, message = "No.") =>
    Object.assign(new Error(message), { name: "RestError", code, ...(statusCode === null ? {} : { statusCode }) }),
};
const services = { S3: s3, Azure: azure };

test.each([
  ["S3", "NoSuchBucket", 404, "DESTINATION_FAILED"],
  ["S3", "AccessDenied", 403, "DESTINATION_REFUSED"],
  ["S3", "InvalidAccessKeyId", 403, "DESTINATION_REFUSED"],
  ["S3", "CredentialsProviderError", null, "DESTINATION_REFUSED"],
  ["S3", "PermanentRedirect", 301, "CONFIG_INVALID"],
  ["S3", "AuthorizationHeaderMalformed", 400, "CONFIG_INVALID"],
  ["S3", "EntityTooLarge", 400, "DESTINATION_FAILED"],
  ["S3", "SlowDown", 503, "DESTINATION_AWAY"],
  ["S3", "TimeoutError", null, "DESTINATION_AWAY"],
  ["Azure", "ContainerNotFound", 404, "DESTINATION_FAILED"],
  ["Azure", "AuthorizationPermissionMismatch", 403, "DESTINATION_REFUSED"],
  ["Azure", "InvalidAuthenticationInfo", 400, "DESTINATION_REFUSED"],
  ["Azure", "Md5Mismatch", 400, "DESTINATION_FAILED"],
  ["Azure", "LeaseIdMissing", 412, "DESTINATION_FAILED"],
  ["Azure", "ServerBusy", 503, "DESTINATION_AWAY"],
  ["Azure", "ECONNREFUSED", null, "DESTINATION_AWAY"],
] as const)("%s: %s with status %s is %s", (service, name, status, wanted) => {
  const error = services[service].storeError(refusals[service](name, status), "lake");
  expect(isCode(error, wanted)).toBe(true);
  expect(error).toMatchObject({ message: expect.stringContaining("lake") });
});

test.each([
  ["S3", "PreconditionFailed", 412, true],
  ["S3", "ConditionalRequestConflict", 412, true],
  ["S3", "SlowDown", 503, false],
  ["Azure", "ConditionNotMet", 412, true],
  ["Azure", "BlobAlreadyExists", 409, true],
  ["Azure", "BlobNotFound", 404, true],
  ["Azure", "LeaseIdMissing", 412, false],
  ["Azure", "ContainerNotFound", 404, false],
  ["Azure", "ServerBusy", 503, false],
] as const)(
  "%s: %s with status %s is a condition that did not hold, which is no failure: %s",
  (service, name, status, isLost) => {
    const refusal = refusals[service](name, status);
    if (service === "S3") {
      const failure = s3.failureOf(refusal);
      expect(failure !== null && s3.isLost(failure)).toBe(isLost);
    } else {
      const failure = azure.failureOf(refusal);
      expect(failure !== null && azure.isLost(failure)).toBe(isLost);
    }
  },
);

test("a missing region is a setting to make; an error of this program stays as it is", () => {
  expect(s3.storeError(new Error("Region is missing"), "lake")).toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining("set `region`"),
  });
  const own = s3.storeError(refusals.S3("SlowDown", 503), "lake");
  expect(s3.storeError(own, "other")).toBe(own);
});

test("credentials that Azure's SDK does not find are refused; no answer in time is a destination that is away", () => {
  const named = (name: string) => azure.storeError(Object.assign(new Error("x"), { name }), "lake");
  expect(named("AggregateAuthenticationError")).toMatchObject({ code: "DESTINATION_REFUSED" });
  expect(named("CredentialUnavailableError")).toMatchObject({ code: "DESTINATION_REFUSED" });
  expect(named("AbortError")).toMatchObject({
    code: "DESTINATION_AWAY",
    message: expect.stringContaining("did not answer in time"),
  });
});

test("an error of Azure is one line without ids of requests, without secrets and without the request", () => {
  const message = "Not allowed: https://x/y?sv=1&sig=abc%2Bd&se=2\nRequestId:0815\nTime:2026-01-01";
  const request = { headers: { authorization: "SharedKey acme:secret" } };
  const error = azure.storeError(
    Object.assign(refusals.Azure("AuthenticationFailed", 403, message), { request }),
    "lake",
  );
  expect(error).toMatchObject({ message: expect.stringContaining("sig=[hidden]&se=2 (HTTP 403)") });
  expect(inspect(error, { depth: 9 })).not.toMatch(/abc%2Bd|0815|acme:secret/);
});
