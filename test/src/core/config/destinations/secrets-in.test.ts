// Secrets in addresses: whatever form they have, none is shown.
import { expect, test } from "vitest";
import { secretsIn, withoutSecrets } from "../../../../../src/core/config/destinations/secrets-in.ts";

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
