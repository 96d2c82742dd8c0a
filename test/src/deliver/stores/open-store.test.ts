// Addresses of stores, and a package that is missing.
import { expect, test } from "vitest";
import { azureAddress, loadAzureStorage } from "../../../../src/deliver/stores/azure-client.ts";
import { openStore, parsePlace } from "../../../../src/deliver/stores/open-store.ts";
import { loadS3 } from "../../../../src/deliver/stores/s3-store.ts";

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
  expect(parsePlace("az://$web/a", "/x", "a")).toEqual({ ...plain, container: "$web", prefix: "a" });
  expect(parsePlace("az://lake", "/x", "a")).toEqual({ ...plain, container: "lake", prefix: "" });
  const china = { account: "acme1", endpoint: "https://acme1.blob.core.chinacloudapi.cn" };
  expect(parsePlace("abfss://lake-1@acme1.dfs.core.chinacloudapi.cn/a/b", "/x", "a")).toEqual({ ...plain, ...china });
  const acme = { ...plain, account: "acme", endpoint: "https://acme.blob.core.windows.net" };
  expect(parsePlace("abfss://lake-1@acme.dfs.core.windows.net/a/b", "/x", "a")).toEqual(acme);
  const address = (blobs: string) => azureAddress(acme, blobs, "a/b/signals.parquet");
  expect(address("https://acme.blob.core.windows.net")).toBe(
    "abfss://lake-1@acme.dfs.core.windows.net/a/b/signals.parquet",
  );
  expect(address("http://127.0.0.1:10000/acme")).toBe("az://lake-1/a/b/signals.parquet");
});

test.each<readonly [string, string]>([
  ...["Lake/set", "la", "-lake", "la--ke", "lake_1", "a".repeat(64), "", "lake@acme.example.com"].map(
    (place): readonly [string, string] => [`az://${place}`, "it names no container: write az://container/prefix"],
  ),
  ["az://acme.blob.core.windows.net/lake/set", "it names no container"],
  ["az://lake/set?sv=1&sig=secret", "a SAS token belongs into AZURE_STORAGE_SAS_TOKEN"],
  ["az://lake#x", "a SAS token belongs into AZURE_STORAGE_SAS_TOKEN"],
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
