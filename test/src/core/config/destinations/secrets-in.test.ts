// Secrets in addresses: whatever form they have, none is shown.
import { expect, test } from "vitest";
import { z } from "zod";
import {
  azureEnvironment,
  azureSecrets,
  secretsIn,
  sharedParts,
  withoutSecrets,
} from "../../../../../src/core/config/destinations/secrets-in.ts";

// Parts that the settings of every destination share.

const parts = z.object(sharedParts);
const fits = (given: Record<string, unknown>) => parts.safeParse({ name: "lake", ...given }).success;

test.each([
  ["a", true],
  ["Lake_1-x", true],
  ["-lake", false],
  ["la/ke", false],
  ["", false],
  ["a".repeat(63), true],
  ["a".repeat(64), false],
])("the name %j fits: %s, so that it can be a file's and a queue's", (name, expected) => {
  expect(fits({ name })).toBe(expected);
});

// Variables for az:// addresses, and the texts of them that no line may hold.

test("values without the spaces around them; an empty one is none", () => {
  const { account, key, sasToken } = azureEnvironment({ AZURE_STORAGE_ACCOUNT: " acme ", AZURE_STORAGE_KEY: " " });
  expect([account, key, sasToken]).toEqual(["acme", null, null]);
});

test("a connection string is secret as a whole, and so are the keys in it", () => {
  const env = azureEnvironment({
    AZURE_STORAGE_ACCOUNT: "acme",
    AZURE_STORAGE_CONNECTION_STRING: "AccountName=acme;AccountKey=k3y==;EndpointSuffix=x",
    AZURE_STORAGE_SAS_TOKEN: "sv=1&sig=abc",
  });
  const secrets = azureSecrets(env);
  for (const text of ["AccountName=acme;AccountKey=k3y==;EndpointSuffix=x", "k3y==", "sv=1&sig=abc", "abc"])
    expect(secrets).toContain(text);
  expect(secrets).not.toContain("acme");
  expect(JSON.stringify(env)).not.toContain("k3y");
});

test.each([
  ["postgres://me:pass@db/x", ["pass"]],
  ["postgres://me:p%40ss@db/x", ["p%40ss", "p@ss"]],
  ["postgres://me:p:a@ss@db/x", ["p:a@ss"]],
  ["postgres://me@db/x?password=a%20b&sslmode=require", ["a%20b", "a b"]],
  ["host=db password='two words' user=me", ["two words"]],
  ["https://x.blob/y?sv=1&sig=abc%2B", ["abc%2B", "abc+"]],
  ["AccountName=x;AccountKey=k==;EndpointSuffix=y", ["k=="]],
  ["s3://bucket/path", []],
  ["postgres://me:@db/x", []],
  ["https://db:5432/x@y", []],
])("%s", (url, secrets) => {
  expect(secretsIn(url)).toEqual(secrets);
  const shown = withoutSecrets(url);
  for (const secret of secrets) expect(shown).not.toContain(secret);
});

test("a part that is no valid encoding is a secret as it is written", () => {
  expect(secretsIn("x://u:%zz@h")).toEqual(["%zz"]);
});
