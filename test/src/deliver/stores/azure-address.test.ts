// Addresses of containers, as people and engines write them.
import { expect, test } from "vitest";
import { parseAzure } from "../../../../src/deliver/stores/azure-client.ts";

test.each([
  ["lake", "lake", ""],
  ["lake-1//a//b/", "lake-1", "a/b"],
  ["$web/a", "$web", "a"],
])("az://%s is a container and a prefix", (rest, container, prefix) => {
  expect(parseAzure("az", rest)).toEqual({ container, prefix, account: null, endpoint: null });
});

test("Hadoop's form names the account, also in another cloud", () => {
  expect(parseAzure("abfss", "lake@acme1.dfs.core.chinacloudapi.cn/a")).toEqual({
    container: "lake",
    prefix: "a",
    account: "acme1",
    endpoint: "https://acme1.blob.core.chinacloudapi.cn",
  });
});

test("an abfss:// address needs its account, whatever else it names", () => {
  expect(parseAzure("abfss", "lake/a")).toBe("write abfss://container@account.dfs.core.windows.net/prefix");
});

test.each(["la", "Lake", "-lake", "la--ke", "lake_1", "a".repeat(64), "", "lake@acme.example.com"])(
  "%j names no container",
  (rest) => {
    expect(parseAzure("az", rest)).toContain("it names no container: write az://container/prefix");
  },
);

test("a signature in the address is refused before anything reads it", () => {
  expect(parseAzure("az", "lake/set?sig=x")).toContain("AZURE_STORAGE_SAS_TOKEN");
  expect(parseAzure("az", "lake#x")).toContain("AZURE_STORAGE_SAS_TOKEN");
});
