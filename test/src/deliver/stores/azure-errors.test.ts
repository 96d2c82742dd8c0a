// Errors of Azure as errors of this program.
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { isCode } from "../../../../src/core/errors.ts";
import { failureOf, isLost, storeError } from "../../../../src/deliver/stores/azure-client.ts";

const azureRefusal = (code: string, statusCode: number | null, message = "No.") =>
  Object.assign(new Error(message), { name: "RestError", code, ...(statusCode === null ? {} : { statusCode }) });

test.each([
  ["ContainerNotFound", 404, "DESTINATION_FAILED"],
  ["AuthorizationPermissionMismatch", 403, "DESTINATION_REFUSED"],
  ["InvalidAuthenticationInfo", 400, "DESTINATION_REFUSED"],
  ["Md5Mismatch", 400, "DESTINATION_FAILED"],
  ["LeaseIdMissing", 412, "DESTINATION_FAILED"],
  ["ServerBusy", 503, "DESTINATION_AWAY"],
  ["ECONNREFUSED", null, "DESTINATION_AWAY"],
] as const)("Azure: %s is %s %s", (code, status, wanted) => {
  const error = storeError(azureRefusal(code, status), "lake");
  expect(isCode(error, wanted)).toBe(true);
  expect(error).toMatchObject({ message: expect.stringContaining("lake") });
});

test("credentials that Azure's SDK does not find are refused; no answer in time is a destination that is away", () => {
  const named = (name: string) => storeError(Object.assign(new Error("x"), { name }), "lake");
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
  const error = storeError(Object.assign(azureRefusal("AuthenticationFailed", 403, message), { request }), "lake");
  expect(error).toMatchObject({ message: expect.stringContaining("sig=[hidden]&se=2 (HTTP 403)") });
  expect(inspect(error, { depth: 9 })).not.toMatch(/abc%2Bd|0815|acme:secret/);
});

test("Azure: a condition that did not hold is no failure; a lease of somebody else is one", () => {
  const lost = (code: string, status: number) => {
    const failure = failureOf(azureRefusal(code, status));
    return failure !== null && isLost(failure);
  };
  expect([lost("ConditionNotMet", 412), lost("BlobAlreadyExists", 409), lost("BlobNotFound", 404)]).toEqual([
    true,
    true,
    true,
  ]);
  expect([lost("LeaseIdMissing", 412), lost("ContainerNotFound", 404), lost("ServerBusy", 503)]).toEqual([
    false,
    false,
    false,
  ]);
});
