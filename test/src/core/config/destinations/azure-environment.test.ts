// Variables for az:// addresses, and the texts of them that no line may hold.
import { expect, test } from "vitest";
import { azureEnvironment, azureSecrets } from "../../../../../src/core/config/destinations/azure-environment.ts";

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
