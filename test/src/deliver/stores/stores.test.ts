// Addresses of stores, a package that is missing, and errors of S3 and Azure as errors of this program.
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { isCode } from "../../../../src/core/errors.ts";
import { azureAddress } from "../../../../src/deliver/stores/azure-address.ts";
import {
  storeError as azureError,
  failureOf as azureFailure,
  isLost as isAzureLost,
} from "../../../../src/deliver/stores/azure-errors.ts";
import { loadAzureStorage } from "../../../../src/deliver/stores/azure-packages.ts";
import { openStore, parsePlace } from "../../../../src/deliver/stores/open-store.ts";
import { failureOf, isLost, storeError } from "../../../../src/deliver/stores/s3-errors.ts";
import { loadS3 } from "../../../../src/deliver/stores/s3-packages.ts";

test("an address names a folder, or a bucket and a prefix", () => {
  expect(parsePlace("out/set", "/etc/duckmirror", "a")).toEqual({ folder: "/etc/duckmirror/out/set" });
  expect(parsePlace("file:///srv/set", "/x", "a")).toEqual({ folder: "/srv/set" });
  expect(parsePlace("s3://lake/a/b/", "/x", "a")).toEqual({ scheme: "s3", bucket: "lake", prefix: "a/b" });
  expect(parsePlace("gs://lake", "/x", "a")).toEqual({ scheme: "gs", bucket: "lake", prefix: "" });
});

test("an address of Azure names a container, and in Hadoop's form its account, too", () => {
  const plain = { container: "lake-1", prefix: "a/b", account: null, endpoint: null };
  expect(parsePlace("az://lake-1/a//b/", "/x", "a")).toEqual(plain);
  expect(parsePlace("azure://lake-1/a/b", "/x", "a")).toEqual(plain);
  const acme = { ...plain, account: "acme", endpoint: "https://acme.blob.core.windows.net" };
  expect(parsePlace("abfss://lake-1@acme.dfs.core.windows.net/a/b", "/x", "a")).toEqual(acme);
  const address = (blobs: string) => azureAddress(acme, blobs, "a/b/signals.parquet");
  expect(address("https://acme.blob.core.windows.net")).toBe(
    "abfss://lake-1@acme.dfs.core.windows.net/a/b/signals.parquet",
  );
  expect(address("http://127.0.0.1:10000/acme")).toBe("az://lake-1/a/b/signals.parquet");
});

test.each([
  ["az://Lake/set", "it names no container: write az://container/prefix"],
  ["az://acme.blob.core.windows.net/lake/set", "it names no container"],
  ["az://lake/set?sv=1&sig=secret", "a SAS token belongs into AZURE_STORAGE_SAS_TOKEN"],
  ["abfss://lake/set", "write abfss://container@account.dfs.core.windows.net/prefix"],
  ["https://lake.example", "write s3://bucket/prefix"],
  ["s3:///set", "names no bucket"],
])("%s is refused", (url, words) => {
  expect(() => parsePlace(url, "/x", "lake")).toThrow(`destinations: lake: ${words}`.slice(0, 18));
  expect(() => parsePlace(url, "/x", "lake")).toThrow(words);
});

test("a missing package is an error that says what to install", async () => {
  const missing = Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
  await expect(loadS3("lake", () => Promise.reject(missing))).rejects.toMatchObject({
    code: "DESTINATION_PACKAGE_MISSING",
    hint: expect.stringContaining("npm install @aws-sdk/client-s3 @aws-sdk/lib-storage"),
  });
  await expect(loadAzureStorage("lake", () => Promise.reject(missing))).rejects.toMatchObject({
    code: "DESTINATION_PACKAGE_MISSING",
    hint: expect.stringContaining("npm install @azure/storage-blob@12.32 @azure/identity@4.13.1"),
  });
});

test("a setting of another kind of store is refused", async () => {
  const container = { container: "lake", prefix: "", account: "acme", endpoint: null };
  const bucket = { scheme: "s3" as const, bucket: "lake", prefix: "" };
  await expect(openStore("a", container, { region: "eu" })).rejects.toThrow("region: only for s3:// and gs://");
  await expect(openStore("a", bucket, { account: "acme" })).rejects.toThrow("account: only for az://");
});

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

const azureRefusal = (code: string, statusCode: number | null, message = "No.") =>
  Object.assign(new Error(message), { name: "RestError", code, ...(statusCode === null ? {} : { statusCode }) });

test.each([
  ["ContainerNotFound", 404, "DESTINATION_FAILED"],
  ["AuthenticationFailed", 403, "DESTINATION_REFUSED"],
  ["AuthorizationPermissionMismatch", 403, "DESTINATION_REFUSED"],
  ["NoAuthenticationInformation", 401, "DESTINATION_REFUSED"],
  ["InvalidAuthenticationInfo", 400, "DESTINATION_REFUSED"],
  ["Md5Mismatch", 400, "DESTINATION_FAILED"],
  ["LeaseIdMissing", 412, "DESTINATION_FAILED"],
  ["ServerBusy", 503, "DESTINATION_AWAY"],
  ["ECONNREFUSED", null, "DESTINATION_AWAY"],
] as const)("Azure: %s is %s %s", (code, status, wanted) => {
  const error = azureError(azureRefusal(code, status), "lake");
  expect(isCode(error, wanted)).toBe(true);
  expect(error).toMatchObject({ message: expect.stringContaining("lake") });
});

test("credentials that Azure's SDK does not find are refused; no answer in time is a destination that is away", () => {
  const named = (name: string) => azureError(Object.assign(new Error("x"), { name }), "lake");
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
  const error = azureError(Object.assign(azureRefusal("AuthenticationFailed", 403, message), { request }), "lake");
  expect(error).toMatchObject({ message: expect.stringContaining("sig=[hidden]&se=2 (HTTP 403)") });
  expect(inspect(error, { depth: 9 })).not.toMatch(/abc%2Bd|0815|acme:secret/);
});

test("Azure: a condition that did not hold is no failure; a lease of somebody else is one", () => {
  const lost = (code: string, status: number) => {
    const failure = azureFailure(azureRefusal(code, status));
    return failure !== null && isAzureLost(failure);
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
