// Addresses of stores, a package that is missing, and errors of S3 as errors of this program.
import { expect, test } from "vitest";
import { isCode } from "../../../../src/core/errors.ts";
import { parsePlace } from "../../../../src/deliver/stores/open-store.ts";
import { failureOf, isLost, storeError } from "../../../../src/deliver/stores/s3-errors.ts";
import { loadS3 } from "../../../../src/deliver/stores/s3-packages.ts";

test("an address names a folder, or a bucket and a prefix", () => {
  expect(parsePlace("out/set", "/etc/duckmirror", "a")).toEqual({ folder: "/etc/duckmirror/out/set" });
  expect(parsePlace("file:///srv/set", "/x", "a")).toEqual({ folder: "/srv/set" });
  expect(parsePlace("s3://lake/a/b/", "/x", "a")).toEqual({ scheme: "s3", bucket: "lake", prefix: "a/b" });
  expect(parsePlace("gs://lake", "/x", "a")).toEqual({ scheme: "gs", bucket: "lake", prefix: "" });
});

test.each([
  ["az://account/container", "az:// is not supported yet: use s3://, gs:// or a folder"],
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
