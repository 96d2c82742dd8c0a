// Setting `destinations`: a list in the file or JSON in the environment; what is wrong is named, addresses are never shown.
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { azureSecrets } from "../../../../../src/core/config/destinations/secrets-in.ts";
import { configOf } from "../../../../support/given-config.ts";

test("a destination of each kind, the address from the file or from a variable that the file names", () => {
  const { destinations } = configOf(
    `destinations:
  - { name: crm, kind: postgres, url_env: CRM_URL, tables: [signals, usage] }
  - { name: files, kind: parquet, url: ./parquet }
  - { name: lake, kind: ducklake, url: "ducklake:lake.db", data_path: ./lake }`,
    { CRM_URL: "postgres://me:hush@db/crm" },
  );
  expect(destinations).toMatchObject([
    { name: "crm", kind: "postgres", schema: "duckmirror", tables: ["signals", "usage"] },
    { name: "files", kind: "parquet", folder: "/etc/duckmirror", tables: [] },
    { name: "lake", kind: "ducklake", data_path: "./lake" },
  ]);
  expect(destinations.map(({ url }) => url.reveal())).toEqual([
    "postgres://me:hush@db/crm",
    "./parquet",
    "ducklake:lake.db",
  ]);
  expect(inspect(destinations) + JSON.stringify(destinations)).not.toContain("hush");
});

test("a bucket's settings, and how long old parts stay", () => {
  const bucket =
    "url: s3://lake/set, endpoint: https://s3.example, region: eu-1, path_style: yes, sse: aws:kms, kms_key_id: k";
  const text = `destinations: [{ name: a, kind: parquet, ${bucket}, keep_old_parts: 2d }, { name: b, kind: parquet, url: x }]`;
  expect(configOf(text).destinations).toMatchObject([
    { endpoint: "https://s3.example", path_style: true, sse: "aws:kms", keep_old_parts: 172_800_000 },
    { keep_old_parts: 86_400_000 },
  ]);
});

test("an account of Azure, and credentials as its command line reads them, which do not print", () => {
  const env = {
    AZURE_STORAGE_ACCOUNT: "acme",
    AZURE_STORAGE_KEY: "aGVsbG8gd29ybGQ=",
    AZURE_STORAGE_SAS_TOKEN: "?sv=1&sig=ab%2Bcd",
    AZURE_STORAGE_CONNECTION_STRING: "",
  };
  const { destinations, azure } = configOf(
    "destinations: [{ name: a, kind: parquet, url: az://lake/set, account: other }]",
    env,
  );
  expect(destinations).toMatchObject([{ account: "other" }]);
  expect(azure).toMatchObject({ account: "acme", connectionString: null });
  expect(azureSecrets(azure)).toEqual(["aGVsbG8gd29ybGQ=", "?sv=1&sig=ab%2Bcd", "ab%2Bcd", "ab+cd"]);
  expect(inspect(azure) + JSON.stringify(azure)).not.toMatch(/aGVs|sig=/);
});

test("as JSON in the environment; a profile's own list replaces it", () => {
  const env = { DUCKMIRROR_DESTINATIONS: '[{"name":"a","kind":"parquet","url":"out"}]' };
  const text = `profiles:
  one: {}
  two: { destinations: [{ name: b, kind: parquet, url: out }] }`;
  expect(configOf(text, env, "one").destinations).toMatchObject([{ name: "a", folder: "/srv" }]);
  expect(configOf(text, env, "two").destinations).toMatchObject([{ name: "b", folder: "/etc/duckmirror" }]);
});

test.each([
  ["an unknown kind", "[{ name: a, kind: oracle, url: x }]", "kind is postgres, parquet, snapshot or ducklake"],
  ["an unknown member", "[{ name: a, kind: postgres, url: x, shema: y }]", "shema"],
  ["one name twice", "[{ name: a, kind: parquet, url: x }, { name: a, kind: parquet, url: y }]", "two destinations"],
  ["no address", "[{ name: a, kind: postgres }]", "a needs either url or url_env"],
  ["two addresses", "[{ name: a, kind: postgres, url: x, url_env: Y }]", "a needs either url or url_env"],
  ["a key without its kind", "[{ name: a, kind: parquet, url: x, kms_key_id: k }]", "needs sse: aws:kms"],
  ["no kind of encryption", "[{ name: a, kind: parquet, url: x, sse: rot13 }]", "AES256, aws:kms"],
  ["an account that is none", "[{ name: a, kind: parquet, url: x, account: A_b }]", "a storage account"],
  ["no time", "[{ name: a, kind: parquet, url: x, keep_old_parts: long }]", "a duration like"],
  ["no limit", "[{ name: a, kind: postgres, url: x, answer_timeout: 0s }]", "is not between 1s and 24h"],
  ["a limit that no timer holds", "[{ name: a, kind: ducklake, url: x, answer_timeout: 30d }]", "is not between 1s"],
  ["an address without a sign", '[{ name: a, kind: parquet, url: " " }]', "url"],
  ["a variable that is an address", '[{ name: a, kind: parquet, url_env: "s3://lake" }]', "url_env"],
  ["an unknown table", "[{ name: a, kind: postgres, url: x, tables: [signal] }]", '"signal" is not a table'],
  ["no list", "{ name: a }", "is a list of destinations"],
  ["a name that no command line takes", "[{ name: --all, kind: parquet, url: x }]", "is not a name of letters"],
])("refuses %s", (_, list, message) => {
  expect(() => configOf(`destinations: ${list}`)).toThrow(message);
});
