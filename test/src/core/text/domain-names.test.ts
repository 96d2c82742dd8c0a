// Domains and addresses in a comparable form.
import { expect, test } from "vitest";
import { bareAddress, domainCandidates } from "../../../../src/core/text/domain-names.ts";

test.each<[string, readonly string[]]>([
  ["https://www.Shop.Acme.co.uk/x?y", ["shop.acme.co.uk", "acme.co.uk", "co.uk"]],
  ["acme.com.", ["acme.com"]],
  ["acme.com:8080", ["acme.com"]],
  ["mailto://me@acme.com", ["acme.com"]],
  [" ACME.com#top ", ["acme.com"]],
  ["acme", []],
  ["Acme Inc.", []],
  ["acme..com", []],
  ["two words.com", []],
  ["", []],
])("%j may mean %j", (input, domains) => {
  expect(domainCandidates(input)).toEqual(domains);
});

test.each([
  ["https://www.Acme.com/About/?x#y", "acme.com/about"],
  ["acme.com//", "acme.com"],
  ["http://acme.com/a#b/c", "acme.com/a"],
])("%s is %s", (input, bare) => {
  expect(bareAddress(input)).toBe(bare);
});
